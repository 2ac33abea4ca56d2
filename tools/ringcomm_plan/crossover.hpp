// SPDX-License-Identifier: Apache-2.0
// From which sequence length on one way of computing a layer beats another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "choose.hpp"

namespace ringcomm::planner {

inline constexpr std::int64_t kCrossoverTokensMax = std::int64_t{1} << 27;

/// Shortest length (1 to kCrossoverTokensMax) from which `first` stays below `second`; absent: it does not at
/// the end. Looks at powers of two and bisects behind the last one that loses: several crossings between two
/// neighbouring powers of two count as one.
using TimeOfLength = std::function<double(std::int64_t)>;
std::optional<std::int64_t> wins_from(const TimeOfLength& first, const TimeOfLength& second);

struct Crossovers {
  bool is_known = false;                             ///< false: a rate or bandwidth is unknown
  std::optional<std::int64_t> parallel_from{};       ///< CP with its best strategy against one rank
  std::optional<std::int64_t> ring_over_gather{};    ///< ring against all-gather
  std::optional<std::int64_t> ring_over_exchange{};  ///< ring against all-to-all
  bool exchange_is_possible = false;
  std::optional<std::int64_t> hides_from{};  ///< tokens per rank
  /// Time of a layer's attention for some lengths: one rank, then kStrategies; absent: refused.
  struct Row {
    std::int64_t tokens = 0;
    double one_rank_us = 0;
    std::vector<std::optional<double>> strategy_us{};
  };
  std::vector<Row> rows{};
  double compute_over_transfer = 0;  ///< of a step at the asked length
};
/// For `split` as it is: attention of one layer, forward, at rates that do not depend on the length. The
/// matrix products around it are left out: what short ones cost is set by the weights' size, not by CP.
Crossovers find_crossovers(const Request& request, const Split& split);

}  // namespace ringcomm::planner
