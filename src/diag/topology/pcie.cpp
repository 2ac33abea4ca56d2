// SPDX-License-Identifier: Apache-2.0
// PCI Express: what the bridges above GPUs and NICs do to their traffic (spec checks 1, 3, 4, 5).
#include <algorithm>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

const PciDevice& at(const Machine& machine, int pci) { return machine.pci[static_cast<std::size_t>(pci)]; }

/// Bridges strictly below the first common one: only these can send a peer's packet up and away.
std::vector<int> below_common(const Machine& machine, int a, int b) {
  const auto above_a = bridges_above(machine, a);
  const auto above_b = bridges_above(machine, b);
  const auto common = std::ranges::find_first_of(above_a, above_b);
  if (common == above_a.end()) return {};
  std::vector<int> below(above_a.begin(), common);
  for (const int bridge : above_b) {
    if (bridge == *common) break;
    below.push_back(bridge);
  }
  return below;
}

std::set<int> peer_bridges(const Machine& machine) {
  std::set<int> bridges;
  const auto ends = endpoints(machine);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t j = i + 1; j < ends.size(); ++j) {
      if (ends[i].host != ends[j].host || !function_of(machine, ends[i]) || !function_of(machine, ends[j]))
        continue;
      for (const int bridge : below_common(machine, *ends[i].pci, *ends[j].pci)) bridges.insert(bridge);
    }
  }
  return bridges;
}

std::vector<DeviceRef> devices_below(const Machine& machine, int bridge) {
  std::vector<DeviceRef> below;
  for (const Endpoint& end : endpoints(machine)) {
    if (!function_of(machine, end)) continue;
    const auto above = bridges_above(machine, *end.pci);
    if (std::ranges::find(above, bridge) != above.end()) below.push_back(end.device);
  }
  return below;
}

std::string redirect_text(const AcsControl& acs) {
  std::vector<std::string> bits;
  if (acs.request_redirect) bits.emplace_back("ReqRedir+");
  if (acs.completion_redirect) bits.emplace_back("CmpltRedir+");
  if (acs.upstream_forward) bits.emplace_back("UpstreamFwd+");
  return joined(bits, " ");
}

bool is_virtual(const Machine& machine, int host) {
  const auto position = static_cast<std::size_t>(host);
  return position < machine.hosts.size() && machine.hosts[position].is_virtual.value_or(false);
}

/// Says "unknown" for endpoints without a place in the PCI tree; true if there is any with one.
bool has_tree(const Machine& machine, Report& report, std::string_view wanted) {
  bool has_any = false;
  std::vector<DeviceRef> lost;
  for (const Endpoint& end : endpoints(machine)) {
    if (function_of(machine, end)) {
      has_any = true;
    } else {
      lost.push_back(end.device);
    }
  }
  if (!lost.empty()) {
    report.unknown(concat("the evidence has no PCI function for ", names_text(machine, lost), ": ", wanted),
                   Ask::lspci, {}, lost);
  }
  return has_any;
}

struct Rate {
  std::optional<double> gb_per_s{};
  std::optional<double> gt_per_s{};
};
/// What a link can do where the evidence knows it: an idle link is slow on purpose. A bandwidth that is
/// stated without a speed (hwloc) is that of the moment, and tells nothing.
Rate rate_of(const PciDevice& device) {
  const bool has_slot = device.slot.gt_per_s.has_value();
  PciLink whole = has_slot ? device.slot : device.link;
  whole.stated_gb_per_s.reset();
  if (!whole.width && has_slot) whole.width = device.link.width;
  return {.gb_per_s = whole.gb_per_s(), .gt_per_s = whole.gt_per_s};
}

std::string rate_text(const PciDevice& device) {
  const PciLink& link = device.slot.gt_per_s ? device.slot : device.link;
  return concat(link.gt_per_s ? concat(*link.gt_per_s, " GT/s") : std::string("unknown speed"), " x",
                link.width ? concat(*link.width) : std::string("?"));
}

/// Below a quarter no real switch is built (a GPU in a x4 slot is exactly one quarter): spec check 5.
std::optional<bool> is_far_slower(const Rate& bridge, const Rate& leaf) {
  if (bridge.gb_per_s && leaf.gb_per_s) return *bridge.gb_per_s < *leaf.gb_per_s / 4;
  if (bridge.gt_per_s && leaf.gt_per_s && *bridge.gt_per_s < *leaf.gt_per_s / 4) return true;
  return std::nullopt;
}

void judge_bridges_above(const Machine& machine, const Endpoint& end, Report& report) {
  const PciDevice& leaf = *function_of(machine, end);
  // A GPU with a chip-to-chip link reaches its CPU over that; such a bridge then slows nothing down.
  const bool is_bypassed = end.device.kind == PartKind::gpu && has_c2c(machine, end.device.position);
  for (const int bridge : bridges_above(machine, *end.pci)) {
    const PciDevice& above = at(machine, bridge);
    const auto slower = is_far_slower(rate_of(above), rate_of(leaf));
    if (!slower) {
      report.unknown(concat("speed or width of ", above.id.to_text(), " or of ", leaf.id.to_text(),
                            " below it is not in the evidence"),
                     Ask::lspci, above.where, {end.device});
    } else if (*slower) {
      report.problem({.read = concat(above.id.to_text(), " above ", name_of(machine, end.device), ": ",
                                     rate_text(above)),
                      .wanted = concat(rate_text(leaf), ", as ", leaf.id.to_text(), " below it"),
                      .where = above.where},
                     {end.device}, is_bypassed ? std::optional(Severity::info) : std::nullopt);
    } else {
      report.looked();
    }
  }
}

/// "+ PCI[0.2] - PCI/0-65000" above "+ PCI[48.0] - GPU/...": the same bridges as NCCL's log shows them.
void judge_logged_bridges(const TopologyCase& input, Report& report) {
  struct Above {
    int depth;
    double gb_per_s;
    const LogEvent* event;
    bool is_said;
  };
  std::vector<Above> chain;
  for (const LogEvent* event : events_of(input, LogEventKind::graph_edge)) {
    const auto depth = number_in(event->value("depth"));
    const auto speed = number_in(event->value("gb_per_s"));
    if (!depth) continue;
    const int level = static_cast<int>(*depth);
    while (!chain.empty() && chain.back().depth >= level) chain.pop_back();
    if (event->value("class") != "PCI" || !speed) continue;
    report.looked();
    for (Above& above : chain) {
      if (above.is_said || !(above.gb_per_s < *speed / 4)) continue;
      above.is_said = true;
      report.problem({.read = concat("PCI[", above.gb_per_s, "] to ", above.event->value("target")),
                      .wanted = concat(*speed, " GB/s, as ", event->value("target"), " below it"),
                      .where = above.event->where},
                     {});
    }
    chain.push_back({.depth = level, .gb_per_s = *speed, .event = event, .is_said = false});
  }
}

}  // namespace

void check_acs_redirect(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (!has_tree(machine, report, "which bridges its traffic crosses is unknown")) return;
  report.looked();
  std::vector<std::string> bad;
  for (const int position : peer_bridges(machine)) {
    const PciDevice& bridge = at(machine, position);
    if (!bridge.acs) {
      report.unknown(
          concat("ACS of bridge ", bridge.id.to_text(), " is not in the evidence (only root sees it)"),
          Ask::lspci, bridge.where, devices_below(machine, position));
      continue;
    }
    // A virtual machine needs the redirect; translated requests then go straight.
    const bool is_excused = is_virtual(machine, bridge.host) && bridge.acs->direct_translated;
    if (!bridge.acs->redirects() || is_excused) continue;
    bad.push_back(bridge.id.to_text());
    report.problem({.read = concat("bridge ", bridge.id.to_text(), ": ", redirect_text(*bridge.acs)),
                    .wanted = "ReqRedir- CmpltRedir- UpstreamFwd-",
                    .where = bridge.where},
                   devices_below(machine, position));
  }
  if (bad.empty()) return;
  report.word({.title = concat("ACS sends peer-to-peer traffic of ", report.devices_text(machine),
                               " up to the CPU, on ", counted(bad.size(), "bridge")),
               .fix = concat("for b in ", joined(bad, " "), "; do setpci -s $b ECAP_ACS+6.w=0000; done"),
               .needs_root = true});
}

void check_pcie_width_below_slot(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (!has_tree(machine, report, "its link width is unknown")) return;
  for (const Endpoint& end : endpoints(machine)) {
    const PciDevice* device = function_of(machine, end);
    if (!device) continue;
    if (!device->slot.width || !device->link.width) {
      report.unknown(
          concat("link width of ", name_of(machine, end.device), " or what it can do is not in the evidence"),
          Ask::lspci, device->where, {end.device});
      continue;
    }
    report.looked();
    if (*device->link.width >= *device->slot.width) continue;
    const auto above = bridges_above(machine, *end.pci);
    const auto slot = above.empty() ? std::optional<int>() : at(machine, above.front()).slot.width;
    if (!slot) {
      report.unknown(concat(name_of(machine, end.device), " runs at x", *device->link.width, " of x",
                            *device->slot.width, "; the width of its slot is not in the evidence"),
                     Ask::lspci, device->where, {end.device});
      continue;
    }
    const int wanted = std::min(*device->slot.width, *slot);
    const bool is_narrow_slot = *device->link.width >= wanted;
    if (is_narrow_slot && end.device.kind == PartKind::nic) continue;
    report.problem(
        {.read = concat(name_of(machine, end.device), " ", device->id.to_text(), ": x", *device->link.width),
         .wanted = concat("x", is_narrow_slot ? *device->slot.width : wanted),
         .where = device->where},
        {end.device}, is_narrow_slot ? std::optional(Severity::warning) : std::nullopt);
  }
  report.word({.title = concat("PCIe link of ", report.devices_text(machine),
                               " is narrower than card and slot allow"),
               .fix = "reseat the card or its riser; then look at the slot's bifurcation in the BIOS",
               .needs_reboot = true});
  report.word({.title = concat("slot of ", report.devices_text(machine, Severity::warning),
                               " is narrower than the card (the board's design)"),
               .fix = "move the card to a slot of full width",
               .needs_reboot = true},
              Severity::warning);
}

void check_pcie_speed_low(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (!has_tree(machine, report, "its link speed is unknown")) return;
  for (const Endpoint& end : endpoints(machine)) {
    const PciDevice* device = function_of(machine, end);
    if (!device) continue;
    const auto above = bridges_above(machine, *end.pci);
    const double slot =
        above.empty() ? 0 : at(machine, above.front()).slot.gt_per_s.value_or(0);  // 0: unknown
    if (!device->link.gt_per_s || !device->slot.gt_per_s || slot == 0) {
      report.unknown(
          concat("link speed of ", name_of(machine, end.device), " or of its slot is not in the evidence"),
          Ask::lspci, device->where, {end.device});
      continue;
    }
    const double wanted = std::min(*device->slot.gt_per_s, slot);
    if (*device->link.gt_per_s >= wanted) {
      report.looked();
      continue;
    }
    if (end.device.kind == PartKind::gpu) {  // an idle GPU slows its link down to save power
      report.unknown(concat(name_of(machine, end.device), " runs at ", *device->link.gt_per_s, " of ", wanted,
                            " GT/s, which is normal when idle: read it again while a copy runs"),
                     Ask::live, device->where, {end.device});
      continue;
    }
    report.problem({.read = concat(name_of(machine, end.device), " ", device->id.to_text(), ": ",
                                   *device->link.gt_per_s, " GT/s"),
                    .wanted = concat(wanted, " GT/s"),
                    .where = device->where},
                   {end.device});
  }
  report.word(
      {.title = concat("PCIe link of ", report.devices_text(machine), " is slower than card and slot allow"),
       .fix = "set the slot's link speed to automatic in the BIOS and switch ASPM off",
       .needs_reboot = true});
}

void check_pcie_bridge_slow(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (!machine.pci.empty()) has_tree(machine, report, "the bridges above it are unknown");
  for (const Endpoint& end : endpoints(machine)) {
    if (function_of(machine, end)) judge_bridges_above(machine, end, report);
  }
  judge_logged_bridges(input, report);
  report.word(
      {.title = concat("a bridge claims less than a quarter of the speed of what is below it, ",
                       counted(report.problems(), "time"), ": a virtual bridge, and planners believe it"),
       .fix =
           "write the speed and width of the device below into the bridge's line of a topology file and set "
           "NCCL_TOPO_FILE to it"});
  report.word({.title = concat("a bridge above ", report.devices_text(machine, Severity::info),
                               " claims a low speed, but their traffic goes over C2C and NVLink"),
               .fix = ""},
              Severity::info);
}

}  // namespace ringcomm::inline v0::diag
