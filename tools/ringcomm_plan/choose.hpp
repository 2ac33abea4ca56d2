// SPDX-License-Identifier: Apache-2.0
// All splits of the ranks that the sizes allow, with every strategy, and the best of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layer.hpp"

namespace ringcomm::planner {

struct Request {
  ModelShape shape{};
  Work work{};
  Fabric fabric{};
  int ranks = 1;
  std::optional<int> tp{}, cp{}, pp{}, dp{};  ///< absent: chosen (pp: 1)
  std::optional<Strategy> strategy{};         ///< absent: chosen
  int tile = 128;                             ///< rows of a flash-attention tile
};

struct Candidate {
  Split split{};
  Strategy strategy = Strategy::ring;
  CpPlace place{};
  std::string refused{};  ///< why the split cannot use the strategy; then nothing below is filled
  Memory memory{};
  Missing missing{};
  std::optional<StepTime> time{};  ///< absent: see `missing`
  bool fits = true;                ///< in the memory of a rank, where that is known

  /// What candidates are compared by: the whole step, or its attention where the rest is unknown.
  std::optional<double> compared_us(const Request& request) const;
};
Candidate judge(const Request& request, const Split& split, Strategy strategy);

/// TP inside a host unless it is given. invalid_argument: no split is possible; names the numbers.
Result<std::vector<Split>> possible_splits(const Request& request);

struct Choice {
  Candidate best{};
  std::vector<Candidate> strategies{};  ///< the best split with each strategy
  std::vector<Candidate> by_cp{};       ///< for each CP size the best candidate, ascending
  std::size_t least_memory = 0;         ///< position in by_cp
  int splits = 0;                       ///< that were compared
  std::string reason{};                 ///< why the best is best
};
/// Least time among those that fit; where no time is known the least memory; ties by smaller TP, then CP.
Result<Choice> choose(const Request& request);

}  // namespace ringcomm::planner
