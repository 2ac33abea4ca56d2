// SPDX-License-Identifier: Apache-2.0
// Input values that every rank, and every peer in plain MPI, can compute again.
#pragma once

#include <cstdint>

namespace ringcomm::perf {

/// A number in [-1, 1): multiples of 1/128, exact in bf16 and fp16.
inline float pattern(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U + index * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<int>(x >> 56) - 128) / 128.0F;
}

}  // namespace ringcomm::perf
