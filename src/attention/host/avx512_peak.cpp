// SPDX-License-Identifier: Apache-2.0
// Register-only loops that keep the 512-bit arithmetic units busy.
#include "attention/host/avx512_kernels.hpp"
#include "attention/host/avx512_vector.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

constexpr int kChains = 16;  // enough independent sums to hide a latency of 6 to 8 cycles at two a cycle

template <class Step>
double run_chains(std::int64_t rounds, double flop_per_step, Step step) {
  __m512 sum[kChains];
  RINGCOMM_UNROLL
  for (int i = 0; i < kChains; ++i) {
    sum[i] = _mm512_setzero_ps();
    asm volatile("" : "+v"(sum[i]));  // else the chains are all equal, and the compiler keeps one
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    RINGCOMM_UNROLL
    for (int i = 0; i < kChains; ++i) sum[i] = step(sum[i]);
  }
  RINGCOMM_UNROLL
  for (int i = 0; i < kChains; ++i) asm volatile("" : : "v"(sum[i]));  // the sums count as used
  return static_cast<double>(rounds) * kChains * flop_per_step;
}

}  // namespace

double avx512_dot_peak_loop(std::int64_t rounds) {
  __m512i one = _mm512_set1_epi32(0x3f803f80);
  asm volatile("" : "+v"(one));
  return run_chains(rounds, 64,
                    [one](__m512 sum) { return _mm512_dpbf16_ps(sum, (__m512bh)one, (__m512bh)one); });
}

double avx512_fma_peak_loop(std::int64_t rounds) {
  __m512 one = _mm512_set1_ps(1.0F);
  asm volatile("" : "+v"(one));
  return run_chains(rounds, 32, [one](__m512 sum) { return _mm512_fmadd_ps(one, one, sum); });
}

}  // namespace ringcomm::inline v0::attention::host
