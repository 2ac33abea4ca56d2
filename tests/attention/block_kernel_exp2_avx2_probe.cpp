// SPDX-License-Identifier: Apache-2.0
#include "attention/block_kernel_exp2_probe.hpp"

#if defined(__AVX2__)
#include "attention/host/avx2_vector.hpp"
#endif

namespace ringcomm::inline v0::attention {

bool avx2_exp2_of_16(const float* values, float* results) {
#if defined(__AVX2__)
  for (int i = 0; i < 16; i += 8) {
    _mm256_storeu_ps(results + i, host::Avx2::exp2(_mm256_loadu_ps(values + i)));
  }
  return true;
#else
  static_cast<void>(values), static_cast<void>(results);
  return false;
#endif
}

}  // namespace ringcomm::inline v0::attention
