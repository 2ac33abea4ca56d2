// SPDX-License-Identifier: Apache-2.0
#include "compare_text.hpp"

#include <algorithm>

#include "labels.hpp"
#include "launch_lines.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr std::size_t kEdgesShown = 4;

std::string edge_rows(const TopologyCase& input, const PlanComparison& comparison, const TextStyle& style) {
  const Machine& machine = input.evidence.machine;
  const auto is_different = [](const EdgeComparison& edge) { return edge.level_now != edge.level_best; };
  const auto different =
      static_cast<std::size_t>(std::count_if(comparison.edges.begin(), comparison.edges.end(), is_different));
  const std::size_t limit = style.explain || style.verbose ? comparison.edges.size() : kEdgesShown;
  std::string out;
  std::size_t shown = 0;
  for (const EdgeComparison& edge : comparison.edges) {
    if ((!is_different(edge) && !style.explain) || shown == limit) continue;
    ++shown;
    const char* arrow = style.ascii ? "->" : "→";
    out += wrap("    ", concat(name_of(machine, edge.from), " ", arrow, " ", name_of(machine, edge.to_now),
                               " now ", edge.level_now, " ", speed(edge.now.gb_per_s), "; best ", arrow, " ",
                               name_of(machine, edge.to_best), " ", edge.level_best, " ",
                               speed(edge.best.gb_per_s), !style.explain || edge.cause.empty() ? "" : "; ",
                               style.explain ? edge.cause : std::string()));
  }
  if (different > shown)
    out += concat("    and ", count_of(different - shown, "edge"), " more (--explain)\n");
  return out;
}

std::string totals(const PlanComparison& comparison) {
  std::string out;
  if (comparison.links_total > 0)
    out += concat("; links used ", comparison.links_used_now, ", best ", comparison.links_used_best, " of ",
                  comparison.links_total);
  if (comparison.nics_usable > 0 && comparison.nics_used > 0)
    out += concat("; NICs used ", comparison.nics_used, " of ", comparison.nics_usable, " usable");
  return out;
}

std::string advice_text(const std::vector<Advice>& advice) {
  std::string out;
  for (const Advice& line : advice) out += concat("    ", fit(line.use, 10), line.command, "\n");
  return out;
}

}  // namespace

std::string compare_text(const TopologyCase& input, const PlanComparison& comparison,
                         const TextStyle& style) {
  if (input.rings.graph.devices.size() < 2) return {};
  const Machine& machine = input.evidence.machine;
  std::string out = "Configured against best\n";
  if (comparison.order.empty()) {
    out += wrap("  ", concat("nothing configured in the evidence", comparison.source.empty() ? "" : ": ",
                             comparison.source));
  } else {
    const std::string who =
        comparison.is_known ? comparison.source : "nothing in the evidence; ranks in order of devices";
    const std::string verdict = comparison.is_ok ? "as good as the best" : "slower than the best";
    const std::string slowest =
        comparison.slowest_now.empty() ? std::string() : concat("; slowest edge ", comparison.slowest_now);
    out += wrap("  ",
                concat(who, " [", order_text(machine, input.rings.graph, comparison.order), "]: ", verdict,
                       slowest, comparison.is_ok ? std::string() : concat(", best ", comparison.slowest_best),
                       totals(comparison)));
    if ((comparison.is_known && !comparison.is_ok) || style.explain)
      out += edge_rows(input, comparison, style);
  }
  std::vector<Advice> advice;
  if (!comparison.is_ok && !comparison.variable.empty()) advice.push_back({"order", comparison.variable});
  const bool is_renumbered = !advice.empty() && comparison.variable.starts_with("CUDA_VISIBLE_DEVICES=");
  for (Advice& line : launch_advice(input, is_renumbered ? RankOrder::best_ring : RankOrder::devices))
    advice.push_back(std::move(line));
  if (!advice.empty()) out += concat("  Set\n", advice_text(advice));
  return out;
}

}  // namespace ringcomm::doctor
