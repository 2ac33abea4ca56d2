// SPDX-License-Identifier: Apache-2.0
// `ringcomm-plan check`: derives every rank's slice and has the verifier prove them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "choose.hpp"
#include "ringcomm/plan/rules.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::planner {

/// The verifier's slot proof is meant for so many ranks.
inline constexpr int kCheckRanksMax = 64;

struct CheckOptions {
  std::optional<plan::Access> access{};      ///< absent: in place inside a host, messages between hosts
  std::optional<plan::RotationMode> mode{};  ///< absent: direct where memory is read in place
  int direction = +1;
  std::uint64_t chunk_bytes = 0;
};
struct CheckReport {
  std::string subject{};  ///< "attention plan with tiles", "rotation of KV blocks (why no tiles)", ...
  plan::PlanFacts facts{};
  int ranks = 1;
  int steps = 0;
  std::vector<std::uint64_t> tiles{};       ///< [ranks]
  std::vector<std::uint64_t> slot_bytes{};  ///< [ranks] arena slots of the plan, one layer
  std::vector<double> pairs{};              ///< [ranks] visible (query, key) pairs of one head
  std::uint64_t hash = 0;                   ///< of all slices
  double seconds = 0;
};
/// The verifier's Status as it is when the proof fails; invalid_argument above kCheckRanksMax ranks;
/// not_available for what this version has no plan for.
Result<CheckReport> check_plan(const Request& request, const Split& split, Strategy strategy,
                               const CheckOptions& options);

}  // namespace ringcomm::planner
