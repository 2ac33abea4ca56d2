// SPDX-License-Identifier: Apache-2.0
#include "attention/block_kernel_exp2_probe.hpp"

#if defined(__AVX512F__)
#include "attention/host/avx512_vector.hpp"
#endif

namespace ringcomm::inline v0::attention {

bool avx512_exp2_of_16(const float* values, float* results) {
#if defined(__AVX512F__)
  _mm512_storeu_ps(results, host::Avx512::exp2(_mm512_loadu_ps(values)));
  return true;
#else
  static_cast<void>(values), static_cast<void>(results);
  return false;
#endif
}

}  // namespace ringcomm::inline v0::attention
