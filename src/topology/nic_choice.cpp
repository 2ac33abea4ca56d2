// SPDX-License-Identifier: Apache-2.0
#include "topology/nic_choice.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "ringcomm/core/text.hpp"
#include "topology/detour.hpp"
#include "topology/device_place.hpp"
#include "topology/matching.hpp"
#include "topology/nic_cost.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::string_view name_of_state(PortState state) {
  switch (state) {
    case PortState::down:
      return "Down";
    case PortState::initializing:
      return "Initializing";
    case PortState::armed:
      return "Armed";
    case PortState::active:
      return "Active";
    case PortState::unknown:
      break;
  }
  return "?";
}

std::string_view name_of_state(PhysState state) {
  switch (state) {
    case PhysState::sleep:
      return "Sleep";
    case PhysState::polling:
      return "Polling";
    case PhysState::disabled:
      return "Disabled";
    case PhysState::training:
      return "Training";
    case PhysState::link_up:
      return "LinkUp";
    case PhysState::error_recovery:
      return "ErrorRecovery";
    case PhysState::unknown:
      break;
  }
  return {};
}

bool can_be_active(const Port& port) {
  return port.state == PortState::active || port.state == PortState::unknown;
}

/// Empty: a port may be active.
std::string why_inactive(const Nic& nic) {
  if (nic.ports.empty() || std::ranges::any_of(nic.ports, can_be_active)) return {};
  const Port& port = nic.ports.front();
  const auto phys = name_of_state(port.phys_state);
  return concat("not ACTIVE (", name_of_state(port.state), phys.empty() ? "" : ", ", phys, ")");
}

/// The first port that may be active; nullptr without one.
const Port* usable_port(const Nic& nic) {
  const auto port = std::ranges::find_if(nic.ports, can_be_active);
  return port == nic.ports.end() ? nullptr : &*port;
}

/// What more than half of a host's RDMA NICs have in common.
struct Majority {
  bool is_infiniband = false;
  std::optional<double> gbit_per_s{};
};

Majority majority_of(const Machine& machine, int host) {
  std::size_t infiniband = 0;
  std::size_t nics = 0;
  std::map<double, std::size_t> rates;
  for (const auto& nic : machine.nics) {
    const Port* port = usable_port(nic);
    if (nic.host != host || !nic.is_rdma || port == nullptr) continue;
    ++nics;
    if (port->link_layer == LinkLayer::infiniband) ++infiniband;
    if (port->gbit_per_s) ++rates[*port->gbit_per_s];
  }
  Majority majority{.is_infiniband = 2 * infiniband > nics};
  for (const auto& [rate, count] : rates) {
    if (2 * count > nics) majority.gbit_per_s = rate;
  }
  return majority;
}

std::string why_odd(const Nic& nic, const Majority& majority) {
  const Port* port = usable_port(nic);
  if (port == nullptr) return {};
  if (majority.is_infiniband && port->link_layer == LinkLayer::ethernet) {
    const bool is_bond = nic.name.find("bond") != std::string::npos;
    return concat("Ethernet ", is_bond ? "bond" : "port", " among InfiniBand rails");
  }
  // A rail that came up with half of its lanes is still a rail; a management NIC is slower than that.
  if (majority.gbit_per_s && port->gbit_per_s && *port->gbit_per_s * 2 < *majority.gbit_per_s)
    return concat(*port->gbit_per_s, " Gbit/s among rails of ", *majority.gbit_per_s);
  return {};
}

/// Best and worst class from the GPUs of the NIC's host.
struct Reach {
  PathClass best = PathClass::unknown;
  bool has_gpu = false;
};

Reach reach_of(const Machine& machine, const PathMatrix& paths, std::size_t nic) {
  Reach reach;
  const std::size_t to = paths.find({.kind = PartKind::nic, .position = static_cast<int>(nic)});
  if (to == paths.devices.size()) return reach;
  for (std::size_t from = 0; from < paths.devices.size(); ++from) {
    if (paths.devices[from].kind != PartKind::gpu) break;
    if (machine.gpus[static_cast<std::size_t>(paths.devices[from].position)].host != machine.nics[nic].host)
      continue;
    reach.has_gpu = true;
    reach.best = std::min(reach.best, paths.at(from, to).path_class);
  }
  return reach;
}

bool is_listed(const std::vector<ExcludedNic>& excluded, std::size_t nic) {
  return std::ranges::any_of(excluded, [&](const auto& entry) { return entry.nic == static_cast<int>(nic); });
}

NicRows rows_of_host(const Machine& machine, const PathMatrix& paths,
                     const std::vector<ExcludedNic>& excluded, int host) {
  NicRows rows;
  std::vector<DevicePlace> places;
  for (std::size_t i = 0; i < paths.devices.size(); ++i) {
    places.push_back(place_of(machine, paths.devices[i]));
    if (places.back().host != host) continue;
    if (paths.devices[i].kind == PartKind::gpu) rows.gpus.push_back(i);
    if (paths.devices[i].kind == PartKind::nic &&
        !is_listed(excluded, static_cast<std::size_t>(paths.devices[i].position)))
      rows.nics.push_back(i);
  }
  const auto before = [&](std::size_t a, std::size_t b) {
    return comes_before(machine, places[a], places[b]);
  };
  std::ranges::sort(rows.gpus, before);
  std::ranges::sort(rows.nics, before);
  return rows;
}

std::optional<int> port_number(const Nic& nic, std::size_t copy) {
  std::vector<int> usable;
  for (const auto& port : nic.ports) {
    if (can_be_active(port)) usable.push_back(port.number);
  }
  if (usable.empty()) return std::nullopt;
  return usable[copy % usable.size()];
}

Bandwidth bandwidth_of(const Nic& nic, std::optional<int> number, const Path& path) {
  const auto port = std::ranges::find_if(nic.ports, [&](const Port& p) { return p.number == number; });
  if (port == nic.ports.end() || !port->gbit_per_s) return {};
  const double rate = *port->gbit_per_s / 8;
  if (path.bandwidth.gb_per_s && *path.bandwidth.gb_per_s < rate) return path.bandwidth;
  return {.gb_per_s = rate, .source = Source::evidence};
}

void choose_on_host(const Machine& machine, const PathMatrix& paths, const std::vector<ExcludedNic>& excluded,
                    int host, std::vector<NicChoice>& choices) {
  const NicRows rows = rows_of_host(machine, paths, excluded, host);
  if (rows.gpus.empty() || rows.nics.empty()) return;
  const std::size_t copies = (rows.gpus.size() + rows.nics.size() - 1) / rows.nics.size();
  const std::size_t columns = rows.nics.size() * copies;
  const auto column_of = assign_rows(nic_costs(machine, paths, rows, copies), rows.gpus.size(), columns);
  for (std::size_t row = 0; row < rows.gpus.size(); ++row) {
    const std::size_t nic = rows.nics[column_of[row] / copies];
    const auto& path = paths.at(rows.gpus[row], nic);
    auto& choice = choices[static_cast<std::size_t>(paths.devices[rows.gpus[row]].position)];
    choice.path_class = path.path_class;
    if (path.path_class == PathClass::unknown || path.path_class == PathClass::dis) {
      choice.reason = concat("no path to a NIC is known: ", path.reason);
      continue;
    }
    choice.nic = paths.devices[nic].position;
    choice.port = port_number(machine.nics[static_cast<std::size_t>(*choice.nic)], column_of[row] % copies);
    choice.reason = concat(name_of(path.path_class), ": ", path.reason);
    choice.bandwidth = bandwidth_of(machine.nics[static_cast<std::size_t>(*choice.nic)], choice.port, path);
  }
}

}  // namespace

std::vector<ExcludedNic> exclude_nics(const Machine& machine, const PathMatrix& paths) {
  std::vector<ExcludedNic> excluded;
  std::map<int, Majority> majorities;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const auto& nic = machine.nics[i];
    if (!majorities.contains(nic.host)) majorities.emplace(nic.host, majority_of(machine, nic.host));
    std::string reason = why_inactive(nic);
    if (reason.empty() && !nic.is_rdma) reason = "sockets only, no RDMA";
    if (reason.empty()) reason = why_odd(nic, majorities.at(nic.host));
    if (!reason.empty()) excluded.push_back({.nic = static_cast<int>(i), .reason = std::move(reason)});
  }
  std::vector<Reach> reaches(machine.nics.size());
  std::map<int, PathClass> best_of_host;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (is_listed(excluded, i)) continue;
    reaches[i] = reach_of(machine, paths, i);
    const auto [best, is_new] = best_of_host.try_emplace(machine.nics[i].host, reaches[i].best);
    if (!is_new) best->second = std::min(best->second, reaches[i].best);
  }
  std::vector<ExcludedNic> far;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (is_listed(excluded, i) || !reaches[i].has_gpu || reaches[i].best != PathClass::sys) continue;
    if (best_of_host.at(machine.nics[i].host) < PathClass::sys)
      far.push_back({.nic = static_cast<int>(i), .reason = "SYS to every GPU while others are nearer"});
  }
  excluded.insert(excluded.end(), far.begin(), far.end());
  std::ranges::sort(excluded, {}, &ExcludedNic::nic);
  return excluded;
}

std::vector<NicChoice> choose_nics(const Machine& machine, const PathMatrix& paths,
                                   const std::vector<ExcludedNic>& excluded) {
  std::vector<NicChoice> choices(machine.gpus.size());
  std::vector<int> hosts;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices[i].gpu = static_cast<int>(i);
    choices[i].reason = machine.nics.empty()       ? "no NIC in the evidence"
                        : machine.has_nic_evidence ? "no usable NIC on its host"
                                                   : "no usable NIC is known on its host";
    hosts.push_back(machine.gpus[i].host);
  }
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  for (const int host : hosts) choose_on_host(machine, paths, excluded, host, choices);
  return choices;
}

}  // namespace ringcomm::inline v0::topology
