// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"

namespace ringcomm::perf {

std::vector<std::size_t> Case::sizes(const Options& options) const {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = options.bytes_min; bytes <= options.bytes_max;) {
    sizes.push_back(bytes);
    const auto next = options.factor > 1
                          ? static_cast<std::size_t>(static_cast<double>(bytes) * options.factor)
                          : bytes + options.bytes_step;
    if (next <= bytes) break;
    bytes = next;
  }
  return sizes;
}

float pattern(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U + index * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<int>(x >> 56) - 128) / 128.0F;
}

}  // namespace ringcomm::perf
