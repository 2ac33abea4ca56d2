// SPDX-License-Identifier: Apache-2.0
// Register-only loop that keeps the 256-bit arithmetic units busy.
#include <immintrin.h>

#include "attention/host/peak_loop.hpp"
#include "attention/host/vector_kernels.hpp"

namespace ringcomm::inline v0::attention::host {

double avx2_fma_peak_loop(std::int64_t rounds) {
  __m256 one = _mm256_set1_ps(1.0F);
  asm volatile("" : "+v"(one));
  return run_chains<__m256>(rounds, 16, [one](__m256 sum) { return _mm256_fmadd_ps(one, one, sum); });
}

}  // namespace ringcomm::inline v0::attention::host
