// SPDX-License-Identifier: Apache-2.0
// The configured ring against the best one (spec check 72).
#include "diag/topology/lookup.hpp"
#include "diag/topology/plan_sources.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {

void check_plan_slower_than_best(const TopologyCase& input, Report& report) {
  const PlanComparison plan = compare_plan(input);
  if (!plan.is_known) return;
  report.looked();
  if (plan.is_ok) return;
  std::vector<DeviceRef> devices;
  for (const EdgeComparison& edge : plan.edges) {
    if (!edge.cause.empty()) devices.push_back(edge.from);
  }
  const bool is_slow = plan.slowest_now != plan.slowest_best || plan.links_total == 0;
  report.problem({.read = is_slow ? concat(plan.source, ": slowest edge ", plan.slowest_now)
                                  : concat(plan.source, ": ", plan.links_used_now, " of ", plan.links_total,
                                           " links used"),
                  .wanted = is_slow ? plan.slowest_best : concat(plan.links_used_best, " links"),
                  .where = find_plan(input, {}).where},
                 devices);
  report.word({.title = is_slow ? concat("the ring in use has a slowest edge of ", plan.slowest_now,
                                         ", the best one of ", plan.slowest_best)
                                : concat("the rings in use leave links idle: ", plan.links_used_now, " of ",
                                         plan.links_used_best, " used"),
               .fix = concat("export ", plan.variable)});
}

}  // namespace ringcomm::inline v0::diag
