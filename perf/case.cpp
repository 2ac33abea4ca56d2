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

}  // namespace ringcomm::perf
