// SPDX-License-Identifier: Apache-2.0
// Register-only loops that keep the 512-bit arithmetic units busy.
#include <immintrin.h>

#include "attention/host/peak_loop.hpp"
#include "attention/host/vector_kernels.hpp"

namespace ringcomm::inline v0::attention::host {
double avx512_dot_peak_loop(std::int64_t rounds) {
  __m512i one = _mm512_set1_epi32(0x3f803f80);
  asm volatile("" : "+v"(one));
  return run_chains<__m512>(
      rounds, 64, [one](__m512 sum) { return _mm512_dpbf16_ps(sum, (__m512bh)one, (__m512bh)one); });
}

double avx512_fma_peak_loop(std::int64_t rounds) {
  __m512 one = _mm512_set1_ps(1.0F);
  asm volatile("" : "+v"(one));
  return run_chains<__m512>(rounds, 32, [one](__m512 sum) { return _mm512_fmadd_ps(one, one, sum); });
}

}  // namespace ringcomm::inline v0::attention::host
