// SPDX-License-Identifier: Apache-2.0
// Ports of NICs: state, rate, MTU, GIDs, counters (spec checks 34, 35, 36, 43, 44).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct PortRef {
  std::size_t nic;
  const Port* port;
};
std::vector<PortRef> rdma_ports(const Machine& machine) {
  std::vector<PortRef> ports;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (!machine.nics[i].is_rdma) continue;
    for (const Port& port : machine.nics[i].ports) ports.push_back({.nic = i, .port = &port});
  }
  return ports;
}

std::string port_text(const Machine& machine, const PortRef& entry) {
  return concat(name_of(machine, nic_ref(entry.nic)), " port ", entry.port->number);
}

const Where& where_of(const Machine& machine, const PortRef& entry) {
  return entry.port->where.file.empty() ? machine.nics[entry.nic].where : entry.port->where;
}

std::string state_text(const Port& port) {
  constexpr std::array<std::string_view, 5> kStates{"state unknown", "Down", "Initializing", "Armed",
                                                    "Active"};
  constexpr std::array<std::string_view, 7> kPhys{
      "physical state unknown", "Sleep", "Polling", "Disabled", "Training", "LinkUp", "ErrorRecovery"};
  return concat(kStates[static_cast<std::size_t>(port.state)], ", ",
                kPhys[static_cast<std::size_t>(port.phys_state)]);
}

/// Judges ports that are not active and of which `is_meant` holds.
void judge_ports(const TopologyCase& input, Report& report, bool (*is_meant)(const Port& port)) {
  const Machine& machine = input.evidence.machine;
  for (const PortRef& entry : rdma_ports(machine)) {
    if (entry.port->state == PortState::unknown) continue;
    report.looked();
    if (entry.port->state == PortState::active || !is_meant(*entry.port)) continue;
    report.problem({.read = concat(port_text(machine, entry), ": ", state_text(*entry.port)),
                    .wanted = "Active, LinkUp",
                    .where = where_of(machine, entry)},
                   {nic_ref(entry.nic)});
  }
}

bool is_bond(const Machine& machine, const PortRef& entry) {
  return contains_ignoring_case(machine.nics[entry.nic].name, "bond");
}

bool is_v4_mapped(const Gid& gid) {
  return gid.address.find("ffff:") != std::string::npos && !gid.address.starts_with("fe80");
}
bool is_v2(const Gid& gid) { return contains_ignoring_case(gid.type, "v2"); }

/// The index that RoCE should use: v2 with an IPv4 address, chosen by content.
std::optional<int> good_gid(const Port& port) {
  for (const Gid& gid : port.gids) {
    if (is_v2(gid) && is_v4_mapped(gid)) return gid.index;
  }
  return std::nullopt;
}

std::string gid_fault(const Port& port, int index) {
  const auto gid = std::ranges::find(port.gids, index, &Gid::index);
  if (gid == port.gids.end()) return "does not exist";
  if (gid->type.empty()) return "";
  if (!is_v2(*gid)) return concat("is ", gid->type);
  if (gid->address.starts_with("fe80")) return "is link-local";
  return "";
}

}  // namespace

void check_port_down(const TopologyCase& input, Report& report) {
  judge_ports(input, report, [](const Port& port) {
    return port.phys_state != PhysState::disabled && port.phys_state != PhysState::polling;
  });
  report.word({.title = concat(
                   report.devices_text(input.evidence.machine),
                   " is not active (LinkUp: no subnet manager, or a virtual function that it does not know)"),
               .fix = "systemctl status opensm on the fabric's manager; ibstat on this host",
               .needs_root = true});
}

void check_port_disabled(const TopologyCase& input, Report& report) {
  judge_ports(input, report, [](const Port& port) { return port.phys_state == PhysState::disabled; });
  report.word(
      {.title = concat(report.devices_text(input.evidence.machine), " was disabled by an administrator"),
       .fix = "ibportstate -D 0 <port> enable (or ip link set <netdev> up)",
       .needs_root = true});
}

void check_port_polling(const TopologyCase& input, Report& report) {
  judge_ports(input, report, [](const Port& port) { return port.phys_state == PhysState::polling; });
  report.word({.title = concat(report.devices_text(input.evidence.machine),
                               " finds nobody at the other end: cable or far port"),
               .fix = "mlxlink -d <device>; then reseat the cable and look at the far port",
               .needs_root = true});
}

void check_port_state_unknown(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (!machine.nics[i].is_rdma) continue;
    if (machine.nics[i].ports.empty()) {
      report.unknown(concat("ports of ", name_of(machine, nic_ref(i)), " are not in the evidence"), Ask::ib,
                     machine.nics[i].where, {nic_ref(i)});
    }
  }
  for (const PortRef& entry : rdma_ports(machine)) {
    if (entry.port->state == PortState::unknown) {
      report.unknown(concat("state of ", port_text(machine, entry), " is not in the evidence"), Ask::ib,
                     where_of(machine, entry), {nic_ref(entry.nic)});
    } else if (entry.port->state != PortState::active && entry.port->phys_state == PhysState::unknown) {
      report.unknown(concat("why ", port_text(machine, entry),
                            " is not active: its physical state is not in the evidence"),
                     Ask::ib, where_of(machine, entry), {nic_ref(entry.nic)});
    } else {
      report.looked();
    }
  }
}

void check_port_rate_below_peers(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<std::pair<int, LinkLayer>, std::vector<PortRef>> groups;
  for (const PortRef& entry : rdma_ports(machine)) {
    // A bond is another kind of device, and a port that is not active reports its lowest rate.
    const bool is_out = entry.port->state != PortState::unknown && entry.port->state != PortState::active;
    if (is_out || is_bond(machine, entry)) continue;
    groups[{machine.nics[entry.nic].host, entry.port->link_layer}].push_back(entry);
  }
  for (const auto& [key, ports] : groups) {
    std::map<double, std::size_t> rates;
    for (const PortRef& entry : ports) {
      if (entry.port->gbit_per_s) {
        ++rates[*entry.port->gbit_per_s];
      } else {
        report.unknown(concat("rate of ", port_text(machine, entry), " is not in the evidence"), Ask::ib,
                       where_of(machine, entry), {nic_ref(entry.nic)});
      }
    }
    if (rates.empty()) continue;
    report.looked();
    const auto common = std::ranges::max_element(rates, {}, [](const auto& rate) { return rate.second; });
    // One odd port among few is another kind of NIC; three that agree make a norm.
    if (common->second < 3) continue;
    for (const PortRef& entry : ports) {
      if (!entry.port->gbit_per_s || *entry.port->gbit_per_s >= common->first) continue;
      report.problem({.read = concat(port_text(machine, entry), ": ", *entry.port->gbit_per_s, " Gb/s"),
                      .wanted = concat(common->first, " Gb/s, as its peers"),
                      .where = where_of(machine, entry)},
                     {nic_ref(entry.nic)});
    }
  }
  report.word({.title = concat("rate of ", report.devices_text(machine), " is below that of its peers"),
               .fix = "mlxlink -d <device> (cable, split port, firmware)",
               .needs_root = true});
}

void check_port_errors(const TopologyCase& input, Report& report) {
  for (const PortRef& entry : rdma_ports(input.evidence.machine)) {
    if (entry.port->counters.empty()) continue;
    report.unknown(
        "error counters were read once; only their growth means something (255 and 65535 are full counters)",
        Ask::nothing, where_of(input.evidence.machine, entry));
    return;
  }
}

void check_port_mtu(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<LinkLayer, std::map<int, std::vector<PortRef>>> by_layer;
  for (const PortRef& entry : rdma_ports(machine)) {
    if (!entry.port->active_mtu_bytes) continue;
    report.looked();
    if (entry.port->state == PortState::active)
      by_layer[entry.port->link_layer][*entry.port->active_mtu_bytes].push_back(entry);
    const bool is_small =
        entry.port->link_layer == LinkLayer::ethernet && *entry.port->active_mtu_bytes < 4096 &&
        entry.port->max_mtu_bytes.value_or(0) >= 4096 && entry.port->state == PortState::active;
    if (!is_small) continue;
    report.problem({.read = concat(port_text(machine, entry), ": active MTU ", *entry.port->active_mtu_bytes),
                    .wanted = "4096",
                    .where = where_of(machine, entry)},
                   {nic_ref(entry.nic)}, Severity::warning);
  }
  for (const auto& [layer, mtus] : by_layer) {
    if (mtus.size() < 2) continue;
    for (const auto& [mtu, ports] : mtus) {
      if (mtu == mtus.rbegin()->first) continue;
      for (const PortRef& entry : ports) {
        report.problem({.read = concat(port_text(machine, entry), ": active MTU ", mtu),
                        .wanted = concat(mtus.rbegin()->first, ", as the others"),
                        .where = where_of(machine, entry)},
                       {nic_ref(entry.nic)});
      }
    }
  }
  report.word({.title = concat("MTU of ", report.devices_text(machine), " differs from the others'"),
               .fix = "ip link set <netdev> mtu 9000 on all hosts",
               .needs_root = true});
  report.word({.title = concat("RoCE MTU of ", report.devices_text(machine, Severity::warning),
                               " is small because the interface's is 1500"),
               .fix = "ip link set <netdev> mtu 9000",
               .needs_root = true},
              Severity::warning);
}

void check_gid_index(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::optional<int> configured;
  Where where;
  for (const LogEvent* event : events_of(input, LogEventKind::qp_failure)) {
    const auto index = number_in(event->value("gid_index"));
    if (index) configured = static_cast<int>(*index);
    where = event->where;
  }
  if (const auto text = variable_of(input, "NCCL_IB_GID_INDEX")) {
    if (const auto index = number_in(*text)) configured = static_cast<int>(*index);
  }
  for (const PortRef& entry : rdma_ports(machine)) {
    if (entry.port->gids.empty() || entry.port->link_layer == LinkLayer::infiniband) continue;
    const auto good = good_gid(*entry.port);
    if (std::ranges::any_of(entry.port->gids, [](const Gid& gid) { return gid.type.empty(); })) {
      report.unknown(concat("types of the GIDs of ", port_text(machine, entry), " are not in the evidence"),
                     Ask::nothing, where_of(machine, entry), {nic_ref(entry.nic)});
    }
    report.looked();
    const std::string fault = configured ? gid_fault(*entry.port, *configured) : std::string();
    if (fault.empty()) continue;
    report.problem({.read = concat(port_text(machine, entry), ": GID index ", *configured, " ", fault),
                    .wanted = good ? concat(*good, " (RoCE v2, IPv4)")
                                   : std::string("a RoCE v2 GID with an IPv4 address"),
                    .where = where_of(machine, entry)},
                   {nic_ref(entry.nic)});
    report.word({.title = concat("GID index ", *configured, " ", fault, " on ", report.devices_text(machine)),
                 .fix = good ? concat("export NCCL_IB_GID_INDEX=", *good, " UCX_IB_GID_INDEX=", *good)
                             : std::string("give the interface an IPv4 address, then show_gids")});
  }
}

}  // namespace ringcomm::inline v0::diag
