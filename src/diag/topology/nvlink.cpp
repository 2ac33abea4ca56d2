// SPDX-License-Identifier: Apache-2.0
// NVLink and chip-to-chip links: inactive, missing, fewer than the peers', uneven (spec checks 16 to 18, 32).
#include <algorithm>
#include <map>

#include "diag/topology/lookup.hpp"
#include "diag/topology/nvlink_counts.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// NVLinks of one GPU by product; boards with bridges (PCIe, NVL) differ by design and are left out.
std::optional<int> links_of_product(std::string_view name) {
  if (!contains_ignoring_case(name, "SXM") && !contains_ignoring_case(name, "HGX") &&
      !contains_ignoring_case(name, "B200") && !contains_ignoring_case(name, "B300"))
    return std::nullopt;
  constexpr std::array<std::pair<std::string_view, int>, 8> kProducts{{{"P100", 4},
                                                                       {"V100", 6},
                                                                       {"A100", 12},
                                                                       {"A800", 8},
                                                                       {"H100", 18},
                                                                       {"H200", 18},
                                                                       {"B200", 18},
                                                                       {"B300", 18}}};
  for (const auto& [product, links] : kProducts) {
    if (contains_ignoring_case(name, product)) return links;
  }
  return std::nullopt;
}

void judge_ports(const Machine& machine, std::size_t position, Report& report) {
  const Gpu& gpu = machine.gpus[position];
  const auto active = active_ports(gpu);
  const auto down = static_cast<int>(std::ranges::count_if(
      gpu.nvlink_ports, [](const NvLinkPort& port) { return port.is_active && !*port.is_active; }));
  if (!active) {
    report.unknown(
        concat("state of some NVLinks of ", name_of(machine, gpu_ref(position)), " is not in the evidence"),
        Ask::nvlink, gpu.where, {gpu_ref(position)});
    return;
  }
  report.looked();
  if (down == 0 || *active == 0) return;  // no active link at all is nvlink_missing_on_gpu
  const auto product = links_of_product(gpu.name);
  std::optional<int> siblings;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (i == position || machine.gpus[i].nvlink_ports.empty()) continue;
    if (const auto theirs = active_ports(machine.gpus[i])) siblings = std::max(siblings.value_or(0), *theirs);
  }
  if (product && *active >= *product) return;
  if (siblings && *active >= *siblings) return;  // all alike: a bridge, or a part of a larger machine
  if (!product && !siblings) {
    report.unknown(concat(counted(static_cast<std::size_t>(down), "NVLink"), " of ",
                          name_of(machine, gpu_ref(position)), " ", down == 1 ? "is" : "are",
                          " inactive; how many its product or its peers have is not in the evidence"),
                   Ask::nvlink, gpu.where, {gpu_ref(position)});
    return;
  }
  report.problem(
      {.read =
           concat(name_of(machine, gpu_ref(position)), ": ", *active, " NVLinks active, ", down, " inactive"),
       .wanted = siblings ? concat(*siblings, ", as its peers") : concat(*product, " on ", gpu.name),
       .where = gpu.where},
      {gpu_ref(position)});
}

/// A bridge board carries 2 or 4 links; an odd number above one between two GPUs that have no other peer is a
/// board that is not fully seated.
void judge_odd_pairs(const LinkCounts& counts, const Machine& machine, Report& report) {
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    if (counts.peers(a) != 1) continue;
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      const auto pair = counts.pair(a, b);
      if (!pair || *pair == 0 || counts.peers(b) != 1) continue;
      report.looked();
      if (*pair < 3 || *pair % 2 == 0) continue;
      report.problem({.read = concat(name_of(machine, gpu_ref(a)), " - ", name_of(machine, gpu_ref(b)), ": ",
                                     *pair, " NVLinks"),
                      .wanted = concat(*pair + 1, ": bridges have 2 or 4 each"),
                      .where = counts.where(a)},
                     {gpu_ref(a), gpu_ref(b)});
    }
  }
}

/// SXM modules and GPUs behind switches are wired on their board.
bool may_have_bridges(const Machine& machine) {
  return std::ranges::none_of(machine.links,
                              [](const Link& link) { return link.end == LinkEnd::nvswitch; }) &&
         std::ranges::none_of(machine.gpus,
                              [](const Gpu& gpu) { return contains_ignoring_case(gpu.name, "SXM"); });
}

}  // namespace

void check_nvlink_inactive(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (!machine.gpus[i].nvlink_ports.empty()) judge_ports(machine, i, report);
  }
  const LinkCounts counts(machine);
  judge_odd_pairs(counts, machine, report);
  counts.say_unknown(report);
  report.word(
      {.title = concat("NVLinks of ", report.devices_text(machine), " are inactive"),
       .fix = concat(may_have_bridges(machine) ? "reseat the bridge, then reset the GPU" : "reset the GPU",
                     ": nvidia-smi -r (ask for a new part if they stay down)"),
       .needs_root = true});
}

void check_nvlink_missing_on_gpu(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const LinkCounts counts(machine);
  counts.say_unknown(report);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const auto own = counts.total(i);
    // Others must form one fabric among themselves: one bridged pair beside a lone GPU is a design.
    const auto others = counts.fabric_without(i);
    if (!own || others.size() < 3) continue;
    report.looked();
    if (*own > 0) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": 0 NVLinks"),
                    .wanted = concat(counts.total(others.front()).value_or(0), ", as ",
                                     name_of(machine, gpu_ref(others.front()))),
                    .where = counts.where(i)},
                   {gpu_ref(i)});
  }
  std::vector<std::string> lone;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const bool is_lone = counts.total(i) == 0;
    (is_lone ? lone : others).push_back(concat(machine.gpus[i].index));
  }
  report.word(
      {.title = concat(report.devices_text(machine), " has no NVLink while its peers do"),
       .fix = concat("nvidia-smi -r -i ", joined(lone, ","),
                     " on a drained node; until then export CUDA_VISIBLE_DEVICES=", joined(others, ",")),
       .needs_root = true});
}

void check_nvlink_fewer_than_peers(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const LinkCounts counts(machine);
  counts.say_unknown(report);
  std::map<int, std::size_t> sizes;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (counts.is_switched(i) && counts.total(i)) ++sizes[*counts.total(i)];
  }
  if (sizes.empty()) return;
  report.looked();
  const int most = sizes.rbegin()->first;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const auto own = counts.total(i);
    if (!counts.is_switched(i) || !own || *own == 0 || *own >= most) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": ", *own, " NVLinks to switches"),
                    .wanted = concat(most, ", as its peers"),
                    .where = counts.where(i)},
                   {gpu_ref(i)});
  }
  report.word(
      {.title = concat(report.devices_text(machine),
                       " has fewer NVLinks than its peers, and slows down all of them"),
       .fix = "nvidia-smi nvlink -s -i <gpu>; then reset it on a drained node: nvidia-smi -r -i <gpu>",
       .needs_root = true});
}

void check_nvlink_uneven_pair(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const LinkCounts counts(machine);
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      const auto there = counts.directed(a, b);
      const auto back = counts.directed(b, a);
      if (there.has_value() != back.has_value()) {
        report.unknown(concat("NVLinks between ", name_of(machine, gpu_ref(a)), " and ",
                              name_of(machine, gpu_ref(b)), " are in the evidence in one direction only"),
                       Ask::topo_matrix, counts.where(there ? a : b), {gpu_ref(a), gpu_ref(b)});
        continue;
      }
      if (!there || *there + *back == 0) continue;
      report.looked();
      if (*there == *back) continue;
      report.problem({.read = concat(name_of(machine, gpu_ref(a)), " to ", name_of(machine, gpu_ref(b)), ": ",
                                     *there, " NVLinks, back: ", *back),
                      .wanted = "the same number both ways",
                      .where = counts.where(a)},
                     {gpu_ref(a), gpu_ref(b)});
    }
  }
  report.word({.title = concat("NVLinks between ", report.devices_text(machine),
                               " differ by direction: one end lost some"),
               .fix = "nvidia-smi nvlink -s; then reset the GPUs on a drained node: nvidia-smi -r",
               .needs_root = true});
}

/// Arm hosts of older GPUs have them on PCIe.
constexpr int kFirstWithC2c = 90;

void check_c2c_missing(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const bool is_arm = std::ranges::any_of(machine.packages, [&](const Package& package) {
      return package.host == gpu.host && (package.arch == "arm64" || package.arch == "aarch64");
    });
    if (!is_arm || gpu.vendor != GpuVendor::nvidia) continue;
    if (gpu.compute_capability && *gpu.compute_capability < kFirstWithC2c) continue;
    // NCCL's file alone gives GPUs both values, and alone would have the link. A link that is there is
    // enough.
    const bool could_show = gpu.compute_capability && gpu.gpu_direct;
    if (!could_show && !has_c2c(machine, static_cast<int>(i))) {
      report.unknown(
          concat("whether ", name_of(machine, gpu_ref(i)), " has a C2C link is not in the evidence"),
          Ask::nccl_dump, gpu.where, {gpu_ref(i)});
      continue;
    }
    report.looked();
    if (has_c2c(machine, static_cast<int>(i))) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": no C2C link on an Arm host"),
                    .wanted = "C2C, as Grace and GB10 have",
                    .where = gpu.where},
                   {gpu_ref(i)});
  }
  report.word({.title = concat("no C2C link is shown for ", report.devices_text(machine)),
               .fix = "use a newer NCCL (2.28 or later), which reads C2C links"});
}

}  // namespace ringcomm::inline v0::diag
