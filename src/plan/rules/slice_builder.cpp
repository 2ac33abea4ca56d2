// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/slice_builder.hpp"

#include <algorithm>
#include <numeric>

namespace ringcomm::inline v0::plan {

std::int32_t SliceBuilder::add(Moment moment, const Op& op) {
  entries_.push_back({moment, op});
  return static_cast<std::int32_t>(entries_.size()) - 1;
}

std::vector<Op> SliceBuilder::ordered() const {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries_[a].moment < entries_[b].moment; });
  std::vector<std::int32_t> place(entries_.size());
  for (std::size_t index = 0; index < order.size(); ++index)
    place[order[index]] = static_cast<std::int32_t>(index);
  std::vector<Op> ops;
  ops.reserve(entries_.size());
  for (const std::size_t entry : order) {
    ops.push_back(entries_[entry].op);
    if (ops.back().after != kNone) ops.back().after = place[static_cast<std::size_t>(ops.back().after)];
  }
  return ops;
}

}  // namespace ringcomm::inline v0::plan
