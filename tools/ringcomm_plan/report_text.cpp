// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/try.hpp"
#include "report.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

constexpr std::size_t kNamesShown = 16;

std::string join(const std::vector<std::string>& words, std::string_view between, std::size_t shown) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), shown); ++i)
    text += concat(i == 0 ? "" : between, words[i]);
  if (words.size() > shown) text += fmt::format("{}... ({})", between, words.size());
  return text;
}

std::string edge_text(const Edge& edge, std::string_view what) {
  const std::string name = edge.name.empty() ? std::string(what) : edge.name;
  std::string text = edge.bandwidth.gb_per_s ? fmt::format("{} {:.4g} GB/s", name, *edge.bandwidth.gb_per_s)
                                             : fmt::format("{} of unknown bandwidth", name);
  if (edge.bandwidth.gb_per_s && edge.bandwidth.source != Source::measured)
    text += fmt::format(" ({})", ringcomm::name_of(edge.bandwidth.source));
  if (edge.alpha_us) text += fmt::format(" + {:.3g} us", *edge.alpha_us);
  return text;
}

std::string head_of(const Report& report) {
  const Request& request = report.options.request;
  const ModelShape& shape = request.shape;
  const Fabric& fabric = report.machine.fabric;
  std::string text =
      fmt::format("Model     {} layers, {} heads ({} KV) x {}, {}, {} mask; {} tokens, batch {}, {}\n",
                  shape.layers, shape.heads, shape.kv_heads, shape.head_dim, ringcomm::name_of(shape.dtype),
                  name_of(shape.mask), request.work.tokens, request.work.batch, name_of(request.work.phase));
  text += fmt::format("          KV of the sequence, all layers: {}\n",
                      format_gb(kv_bytes_of_sequence(shape, request.work.tokens)));
  text += fmt::format("Machine   {} rank{} on {} x {}{}\n", request.ranks, request.ranks == 1 ? "" : "s",
                      fabric.hosts, fabric.gpus_per_host, fabric.origin.empty() ? "" : ", " + fabric.origin);
  if (fabric.gpus_per_host > 1)
    text += fmt::format("          {}\n", edge_text(fabric.local, "edge inside a host"));
  if (fabric.hosts > 1) {
    text += fmt::format("          {} NICs a host: {}\n",
                        fabric.nics_per_host ? std::to_string(*fabric.nics_per_host) : "unknown",
                        edge_text(fabric.nic, "NIC"));
  }
  text += fabric.tflops ? fmt::format("          {:.4g} Tflop/s a rank\n", *fabric.tflops)
                        : "          rate of a rank unknown (--tflops)\n";
  if (!report.options.assumed.empty())
    text += fmt::format("Assumed   {}\n", join(report.options.assumed, "; ", 99));
  if (!report.options.ignored.empty())
    text += fmt::format("Ignored   keys of {}: {}\n", report.options.config,
                        join(report.options.ignored, ", ", 12));
  for (const std::string& sentence : report.options.not_modelled)
    text += fmt::format("Warning   {}\n", sentence);
  for (const std::string& note : report.machine.notes) text += fmt::format("Note      {}\n", note);
  for (const std::string& file : report.machine.unread) text += fmt::format("Unread    {}\n", file);
  return text;
}

std::string plan_of(const Report& report) {
  const Candidate& best = report.choice.best;
  const Request& request = report.options.request;
  std::string text = fmt::format(
      "\nPlan      TP {} x CP {} x PP {} x DP {}, {}{} ({})\n", best.split.tp, best.split.cp, best.split.pp,
      best.split.dp, best.split.cp == 1 ? "no ring" : name_of(best.strategy),
      best.split.cp == 1 ? "" : concat(", ", name_of(layout_of(request.shape, request.work)), " layout"),
      report.choice.reason);
  for (const ShownRing& ring : report.machine.rings) {
    if (ring.names.size() < 2) continue;
    text +=
        fmt::format("Ring      {}{}{}\n", join(ring.names, " ", kNamesShown),
                    ring.gb_per_s ? fmt::format("   {:.4g} GB/s", *ring.gb_per_s) : "   bandwidth unknown",
                    ring.share < 1 ? fmt::format(", {:.0f} % of the heads", 100 * ring.share) : "");
  }
  if (report.machine.rings.empty() && best.split.cp > 1)
    text += "Ring      as ranks are numbered: no evidence of the machine (FILE or --live)\n";
  if (!report.machine.rings_explained.empty())
    text += fmt::format("          {}\n", report.machine.rings_explained);
  if (!report.machine.scheme.empty()) {
    // The double ring needs no ring over all hosts; what one would be is told for comparison.
    const bool is_other = best.split.cp > 1 && best.strategy == Strategy::double_ring;
    text += fmt::format("{}{}: {} of {} NICs, {} hops leave their rail\n          {}\n",
                        is_other ? "Instead   one ring over all hosts would be " : "Between   ",
                        report.machine.scheme, report.machine.nics_used, report.machine.nics_total,
                        report.machine.cross_rail_hops, report.machine.scheme_explained);
  }
  return text;
}

std::string attention_row(std::string_view name, const AttentionTime& time) {
  return fmt::format("  {:<22}{:>10}{:>14}{:>10}   {}\n", name, format_us(time.compute_us),
                     format_us(time.transfer_us), format_us(time.exposed_us),
                     time.exposed_us == 0 ? "hidden" : fmt::format("bound by {}", time.limit));
}

std::string time_of(const Report& report) {
  const Candidate& best = report.choice.best;
  if (!best.time) {
    const std::string& why = best.missing.compute.empty() ? best.missing.transfer : best.missing.compute;
    std::string text = fmt::format("\nTime      unknown ({})\n", why);
    if (!best.missing.compute.empty() && !best.missing.transfer.empty())
      text += fmt::format("          unknown ({})\n", best.missing.transfer);
    return text;
  }
  const StepTime& time = *best.time;
  const AttentionTime& forward = time.layer.forward;
  std::string text =
      fmt::format("\nTime      of one layer{:>12}{:>14}{:>10}\n", "compute", "communication", "exposed");
  text += attention_row("attention, forward", forward);
  if (time.layer.backward) text += attention_row("attention, backward", *time.layer.backward);
  text += fmt::format("  {:<22}{:>10}\n", "matrix products",
                      time.layer.dense_us ? format_us(*time.layer.dense_us) : "unknown (--ffn)");
  if (time.layer.tp_us > 0)
    text += fmt::format("  {:<22}{:>10}{:>14}{:>10}\n", "tensor parallel", "", format_us(time.layer.tp_us),
                        format_us(time.layer.tp_us));
  text += fmt::format(
      "  {} step{} of attention: compute {}, transfer {}{}\n", forward.steps, forward.steps == 1 ? "" : "s",
      format_us(forward.step_compute_us), format_us(forward.step_transfer_us),
      forward.outer_transfer_us > 0 ? ", between hosts " + format_us(forward.outer_transfer_us) : "");
  if (time.gradients_us.value_or(0) > 0)
    text += fmt::format("  gradients, not overlapped {}\n", format_us(*time.gradients_us));
  if (time.bubble > 1) text += fmt::format("  pipeline bubble x {:.3g}\n", time.bubble);
  text += time.total_us ? fmt::format("  whole pass {}\n", format_us(*time.total_us))
                        : fmt::format("  whole pass unknown (--ffn{}); its attention {}\n",
                                      report.options.request.work.phase == Phase::train ? ", --vocab" : "",
                                      format_us(best.compared_us(report.options.request).value_or(0)));
  if (!best.missing.latency.empty()) text += fmt::format("  {}\n", best.missing.latency);
  return text;
}

std::string memory_of(const Report& report) {
  const Memory& memory = report.choice.best.memory;
  std::string text = "\nMemory    of one rank\n";
  for (const MemoryItem& item : memory.items)
    text += fmt::format("  {:<38}{:>10}\n", item.what,
                        item.bytes ? format_gb(*item.bytes) : "unknown (needs --ffn, --vocab)");
  const auto& limit = report.machine.fabric.gpu_gb;
  text += fmt::format(
      "  {:<38}{:>10}{}\n", memory.is_complete ? "sum" : "sum of what is known",
      format_gb(memory.known_bytes),
      limit ? fmt::format(" of {:.4g} GB{}", *limit, report.choice.best.fits ? "" : ": DOES NOT FIT") : "");
  return text;
}

std::string tables_of(const Report& report) {
  std::string text = "\nStrategy       attention   exposed     slots    (this split, forward, one layer)\n";
  for (const Candidate& row : report.choice.strategies) {
    if (!row.refused.empty()) {
      text += fmt::format("  {:<12}no: {}\n", name_of(row.strategy), row.refused);
      continue;
    }
    text += fmt::format("  {:<12}{:>10}{:>10}{:>10}\n", name_of(row.strategy),
                        row.time ? format_us(row.time->layer.forward.total_us) : "unknown",
                        row.time ? format_us(row.time->layer.forward.exposed_us) : "unknown",
                        format_gb(slot_bytes(report.options.request.shape, report.options.request.work,
                                             row.split, row.strategy, row.place)));
  }
  text += "\nCP    TP    DP    strategy         pass    memory\n";
  for (std::size_t i = 0; i < report.choice.by_cp.size(); ++i) {
    const Candidate& row = report.choice.by_cp[i];
    const auto time = row.compared_us(report.options.request);
    text += fmt::format("{:<6}{:<6}{:<6}{:<12}{:>9}{:>10}{}{}\n", row.split.cp, row.split.tp, row.split.dp,
                        row.split.cp == 1 ? "-" : name_of(row.strategy), time ? format_us(*time) : "unknown",
                        format_gb(row.memory.known_bytes), row.fits ? "" : "  does not fit",
                        i == report.choice.least_memory ? "  least memory" : "");
  }
  return text;
}

std::string length_text(std::optional<std::int64_t> tokens) {
  return tokens ? fmt::format("from {} tokens on", *tokens)
                : fmt::format("not up to {} tokens", kCrossoverTokensMax);
}

std::string crossovers_of(const Report& report) {
  const Crossovers& found = report.crossovers;
  const TileFit& tiles = report.tiles;
  std::string text;
  if (report.choice.best.split.cp > 1 && !found.is_known) text += "\nCrossovers unknown, as the time is\n";
  if (found.is_known) {
    text += fmt::format("\nCrossovers of attention, forward, CP {}\n", report.choice.best.split.cp);
    text += fmt::format("  sequence parallelism beats one rank {}\n", length_text(found.parallel_from));
    text += fmt::format("  ring beats all-gather {}\n", length_text(found.ring_over_gather));
    text += fmt::format("  ring beats all-to-all {}\n", found.exchange_is_possible
                                                            ? length_text(found.ring_over_exchange)
                                                            : "always: all-to-all is not possible here");
    text += fmt::format(
        "  a ring step hides its transfer from {} tokens a rank on; compute / transfer is {:.3g} now\n",
        found.hides_from.value_or(0), found.compute_over_transfer);
  }
  text +=
      fmt::format("\nTiles     chunks of {}{} tokens, {} a rank: tile {} {}", tiles.chunk_min,
                  tiles.chunk_max == tiles.chunk_min ? "" : fmt::format(" to {}", tiles.chunk_max),
                  tiles.rows_max == tiles.rows_min ? std::to_string(tiles.rows_max)
                                                   : fmt::format("{} to {}", tiles.rows_min, tiles.rows_max),
                  tiles.tile, tiles.divides ? "divides them\n" : "does not divide them, ");
  if (!tiles.divides) {
    text +=
        fmt::format("{:.1f} % of query rows empty\n          even lengths: {}{}\n", 100 * tiles.empty_share,
                    tiles.even_tokens_below > 0 ? fmt::format("{}, ", tiles.even_tokens_below) : "",
                    tiles.even_tokens_above);
  }
  return text;
}

}  // namespace

std::string format_us(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} us", us);
}
std::string format_gb(double bytes) {
  if (bytes > 0 && bytes < 1e7) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

Result<Report> make_report(Options options, MachineView machine) {
  Report report{.options = std::move(options), .machine = std::move(machine)};
  RINGCOMM_TRY_ASSIGN(report.choice, choose(report.options.request));
  const Split& split = report.choice.best.split;
  RINGCOMM_TRY(add_cluster_rings(report.options, split, report.machine));
  report.crossovers = find_crossovers(report.options.request, split);
  report.tiles = fit_tiles(report.options.request.shape, report.options.request.work, split.cp,
                           report.options.request.tile);
  return report;
}

std::string to_text(const Report& report) {
  return head_of(report) + plan_of(report) + time_of(report) + memory_of(report) + tables_of(report) +
         crossovers_of(report);
}

std::string to_text(const Options& options, const Split& split, Strategy strategy, const CheckReport& check) {
  const auto [least, most] = std::minmax_element(check.pairs.begin(), check.pairs.end());
  std::string text = fmt::format("PROVED    {}\n", check.subject);
  text += fmt::format("          {} ranks, {} steps, {} operations, {} tiles; {}, {} tokens\n", check.ranks,
                      check.steps, check.facts.operations, check.facts.tiles,
                      split.cp == 1 ? "one rank" : name_of(strategy), options.request.work.tokens);
  text +=
      "          every send has its receive, nothing waits in a circle, no slot is rewritten before its\n"
      "          last reader" +
      std::string(check.facts.tiles > 0 ? ", every visible chunk pair is computed once\n" : "\n");
  text += fmt::format("Load      visible pairs of a rank: {:.6g} to {:.6g}, most / mean {:.4f}\n", *least,
                      *most, *most * static_cast<double>(check.pairs.size()) / std::max(1.0, [&] {
                        double sum = 0;
                        for (const double pairs : check.pairs) sum += pairs;
                        return sum;
                      }()));
  text += fmt::format("Memory    slots of a rank, one layer: up to {}\n",
                      format_bytes(check.facts.arena_bytes_max));
  text += fmt::format("Moved     {} over all ranks, one layer\n", format_bytes(check.facts.bytes_moved));
  text += fmt::format("Hash      {:016x} of all slices; {:.3g} s\n", check.hash, check.seconds);
  return text;
}

}  // namespace ringcomm::planner
