// SPDX-License-Identifier: Apache-2.0
// CPUs that ranks were bound to, against those near their GPUs (spec checks 55, 56).
#include <algorithm>
#include <map>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// A node of a GPU host has more; where the node is unknown, fewer CPUs hint at a binding by the launcher.
constexpr std::size_t kFewCpus = 8;
constexpr int kCpuMax = 16384;

/// "0-7,16" -> CPUs; nothing for other text.
std::optional<std::vector<int>> cpus_of(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = number_in(part);
    const auto last = dash == std::string_view::npos ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kCpuMax) return std::nullopt;
    for (int cpu = static_cast<int>(*first); cpu <= static_cast<int>(*last); ++cpu) cpus.push_back(cpu);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return cpus.empty() ? std::nullopt : std::optional(cpus);
}

struct Bound {
  const LogEvent* event;
  std::optional<std::size_t> gpu;
  std::vector<int> cpus;
};
std::vector<Bound> bindings(const TopologyCase& input, Report& report) {
  std::vector<Bound> bound;
  for (const LogEvent* event : events_of(input, LogEventKind::affinity)) {
    const auto cpus = cpus_of(event->value("cpus"));
    if (!cpus) {
      report.unknown(concat("affinity mask '", event->value("mask"), "' is not readable"), Ask::log,
                     event->where);
      continue;
    }
    Bound entry{.event = event, .gpu = {}, .cpus = *cpus};
    const auto index = number_in(event->value("gpu"));
    const Machine& machine = input.evidence.machine;
    for (std::size_t i = 0; index && i < machine.gpus.size(); ++i) {
      if (machine.gpus[i].host == 0 && machine.gpus[i].index == static_cast<int>(*index)) entry.gpu = i;
    }
    bound.push_back(std::move(entry));
  }
  return bound;
}

std::vector<DeviceRef> device_of(const Bound& bound) {
  return bound.gpu ? std::vector<DeviceRef>{gpu_ref(*bound.gpu)} : std::vector<DeviceRef>{};
}

std::string mask_text(const Bound& bound) {
  return concat("GPU ", bound.event->value("gpu"), ": CPUs ", bound.event->value("cpus"), " (",
                counted(bound.cpus.size(), "CPU"), ")");
}

constexpr std::string_view kBind =
    "mpirun --map-by numa --bind-to numa (or srun --cpu-bind=map_ldom:<node of each rank>)";

}  // namespace

void check_affinity_narrow(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Bound& bound : bindings(input, report)) {
    const auto near = bound.gpu ? near_cpus(machine, machine.gpus[*bound.gpu]) : std::nullopt;
    if (!near) {
      report.unknown(concat("CPUs near GPU ", bound.event->value("gpu"), " are not in the evidence"),
                     Ask::topo_matrix, bound.event->where, device_of(bound));
      if (bound.cpus.size() > kFewCpus) continue;
      report.problem(
          {.read = mask_text(bound), .wanted = "all CPUs of the GPU's node", .where = bound.event->where},
          device_of(bound), Severity::info);
      continue;
    }
    report.looked();
    const std::size_t common = common_count(bound.cpus, *near);
    if (common == 0 || common == near->size()) continue;
    report.problem({.read = mask_text(bound),
                    .wanted = concat("the ", counted(near->size(), "CPU"), " of its node"),
                    .where = bound.event->where},
                   device_of(bound));
  }
  report.word({.title = "ranks may use only a part of the CPUs near their GPU: the launcher bound them",
               .fix = std::string(kBind)});
  report.word({.title = concat("ranks may use few CPUs: the launcher bound them"), .fix = std::string(kBind)},
              Severity::info);
}

void check_affinity_off_node(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Bound& bound : bindings(input, report)) {
    const auto near = bound.gpu ? near_cpus(machine, machine.gpus[*bound.gpu]) : std::nullopt;
    if (!near) continue;  // affinity_narrow says that they are unknown
    report.looked();
    if (common_count(bound.cpus, *near) > 0) continue;
    report.problem(
        {.read = mask_text(bound), .wanted = "CPUs of its GPU's node", .where = bound.event->where},
        device_of(bound));
  }
  report.word({.title = concat("ranks of ", report.devices_text(machine), " run on CPUs far from their GPU"),
               .fix = std::string(kBind)});
}

void check_affinity_overlap(const TopologyCase& input, Report& report) {
  struct Shared {
    std::size_t cpus = 0;
    std::map<std::string, const Bound*> ranks{};
  };
  const auto bound = bindings(input, report);
  std::map<std::string, Shared> sets;
  for (const Bound& entry : bound) {
    Shared& shared = sets[concat(entry.event->host, " ", entry.event->value("cpus"))];
    shared.cpus = entry.cpus.size();
    shared.ranks[std::string(entry.event->value("gpu"))] = &entry;
  }
  for (const auto& [name, shared] : sets) {
    report.looked();
    if (shared.ranks.size() <= shared.cpus) continue;
    const Bound& first = *shared.ranks.begin()->second;
    report.problem(
        {.read = concat(counted(shared.ranks.size(), "rank"), " on CPUs ", first.event->value("cpus")),
         .wanted = "a core for each rank",
         .where = first.event->where},
        {});
  }
  report.word({.title = "more ranks than CPUs in one mask: spinning ranks block each other",
               .fix = std::string(kBind)});
}

}  // namespace ringcomm::inline v0::diag
