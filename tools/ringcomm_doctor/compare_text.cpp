// SPDX-License-Identifier: Apache-2.0
#include "compare_text.hpp"

#include <algorithm>

#include "labels.hpp"
#include "launch_lines.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr std::size_t kEdgesShown = 4;
constexpr int kRingPattern = 4;  // NCCL_TOPO_PATTERN_RING; others are trees

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
  const bool is_set = comparison.is_known && comparison.source.ends_with(" more");  // several channels
  if (comparison.links_total > 0)
    out += concat("; links used by ", is_set ? "all channels " : "this ring both ways ",
                  comparison.links_used_now, ", by the best ", is_set ? "set " : "one ",
                  comparison.links_used_best, ", of ", comparison.links_total);
  if (comparison.nics_usable > 0 && comparison.nics_used > 0)
    out += concat("; NICs used ", comparison.nics_used, " of ", comparison.nics_usable, " usable");
  return out;
}

std::string advice_text(const std::vector<Advice>& advice) {
  std::string out;
  for (const Advice& line : advice) out += concat("    ", fit(line.use, 10), line.command, "\n");
  return out;
}

/// The rings of a graph file or a log whose devices are not in the evidence.
std::string rings_alone(const TopologyCase& input, const TextStyle& style) {
  const JobEvidence& job = input.evidence.job;
  std::string out;
  std::size_t shown = 0;
  std::size_t total = 0;
  const auto add = [&](const ConfiguredRing& ring) {
    ++total;
    if (shown == kEdgesShown && !style.verbose) return;
    ++shown;
    std::string order;
    for (const int number : ring.order) order += concat(order.empty() ? "" : " ", number);
    const std::size_t slash = ring.where.file.rfind('/');
    const Where where{slash == std::string::npos ? ring.where.file : ring.where.file.substr(slash + 1),
                      ring.where.line};
    out += wrap("  ", concat("channel ", ring.channel, " [", order, "]",
                             where.file.empty() ? "" : concat(" (", where.to_text(), ")")));
  };
  for (const ConfiguredGraph& graph : job.graphs) {
    if (graph.pattern == kRingPattern) std::for_each(graph.rings.begin(), graph.rings.end(), add);
  }
  std::for_each(job.rings.begin(), job.rings.end(), add);
  if (total > shown) out += concat("    and ", total - shown, " more (--verbose)\n");
  if (out.empty()) return {};
  return concat("Configured rings\n", out, wrap("  ", "their devices are not in the evidence: not judged"));
}

std::string who_text(const PlanComparison& comparison) {
  if (comparison.is_known) return comparison.source;
  if (comparison.source.empty() || comparison.source.starts_with("nothing is configured"))
    return "nothing in the evidence; ranks in order of devices";
  return concat(comparison.source, "; ranks in order of devices");
}

}  // namespace

std::string compare_text(const TopologyCase& input, const PlanComparison& comparison,
                         const TextStyle& style) {
  if (input.rings.graph.devices.size() < 2) return rings_alone(input, style);
  const Machine& machine = input.evidence.machine;
  std::string out = "Configured against best\n";
  if (comparison.order.empty()) {
    out += wrap("  ", concat("nothing configured in the evidence", comparison.source.empty() ? "" : ": ",
                             comparison.source));
  } else {
    const std::string who = who_text(comparison);
    const std::string verdict = !is_any_edge_known(input.rings) ? "whether another is better is not known"
                                : comparison.is_ok              ? "as good as the best"
                                                                : "slower than the best";
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
