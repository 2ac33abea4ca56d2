// SPDX-License-Identifier: Apache-2.0
// A register-only loop that keeps the arithmetic units busy. Internal linkage on purpose: see tile_ops.hpp.
#pragma once

#include <cstdint>

#include "attention/host/unroll.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// Enough independent sums to hide a latency of 6 cycles at two a cycle; they fit 16 registers beside one.
constexpr int kChains = 12;

template <class Vector, class Step>
double run_chains(std::int64_t rounds, double flop_per_step, Step step) {
  Vector sum[kChains];
  RINGCOMM_UNROLL
  for (int i = 0; i < kChains; ++i) {
    sum[i] = Vector{};
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
}  // namespace ringcomm::inline v0::attention::host
