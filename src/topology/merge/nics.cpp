// SPDX-License-Identifier: Apache-2.0
// NICs: one is the same by its bus id, else by its name, else by its guid.
#include "core/parse.hpp"
#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// "NIC3" of a `topo -m` without its legend, "NET3" of an NCCL log: a column or number, not a device's name.
bool is_column_name(const std::string& name) {
  if (name.empty()) return true;
  return (name.starts_with("NIC") || name.starts_with("NET")) &&
         parse_count(std::string_view(name).substr(3));
}

bool is_guid(const std::string& guid) {
  return guid.find_first_not_of("0:x") != std::string::npos && guid.find("...") == std::string::npos;
}

bool may_be_one(const Nic& a, const Nic& b) { return !(a.bus && b.bus && a.bus != b.bus); }

}  // namespace

void Merger::add_nics(const Reading& reading) {
  auto& machine = merged_.machine;
  const std::size_t known = machine.nics.size();
  for (const Nic& nic : reading.machine.nics) {
    const int host = moved(at_.hosts, nic.host).value_or(0);
    auto position = find_nic(nic, host, known);
    if (!position) {
      position = static_cast<int>(machine.nics.size());
      machine.nics.push_back({.host = host, .is_rdma = nic.is_rdma, .where = nic.where});
      if (known > 0 && is_column_name(nic.name) && !nic.bus)
        note(nic.where, nic.name, "a column without a legend: joined with no NIC of another file");
    }
    at_.nics.push_back(*position);
    Nic& target = machine.nics[static_cast<std::size_t>(*position)];
    if (is_column_name(target.name) && !nic.name.empty()) target.name = nic.name;
    fill_quietly(target.pci, moved(at_.pci, nic.pci));
    lay_over(target, nic, name_of(machine, {PartKind::nic, *position}));
  }
}

std::optional<int> Merger::find_nic(const Nic& nic, int host, std::size_t known) const {
  const auto& nics = merged_.machine.nics;
  const auto find = [&](auto is_it) -> std::optional<int> {
    for (std::size_t i = 0; i < nics.size(); ++i) {
      if (nics[i].host == host && is_it(nics[i])) return static_cast<int>(i);
    }
    return std::nullopt;
  };
  if (nic.bus) {
    if (const auto found = find([&](const Nic& other) { return other.bus == nic.bus; })) return found;
  }
  if (!nic.name.empty()) {
    const auto found =
        find([&](const Nic& other) { return other.name == nic.name && may_be_one(other, nic); });
    if (found) return found;
  }
  if (!is_guid(nic.guid)) return std::nullopt;
  const auto is_it = [&](const Nic& other) {
    return other.host == host && other.guid == nic.guid && may_be_one(other, nic) &&
           (is_column_name(other.name) || is_column_name(nic.name) || other.name == nic.name);
  };
  // NCCL gives the guid of the system image, which the functions of a card share: two in one file are two.
  const auto end = nics.begin() + static_cast<std::ptrdiff_t>(known);
  const auto found = std::find_if(nics.begin(), end, is_it);
  if (found == end || std::find_if(found + 1, end, is_it) != end) return std::nullopt;
  return static_cast<int>(found - nics.begin());
}

void Merger::lay_over(Nic& target, const Nic& nic, const std::string& name) {
  fill(target.bus, nic.bus, name + " bus id", nic.where);
  fill(target.numa_node, nic.numa_node, name + " NUMA node", nic.where);
  fill_quietly(target.guid, nic.guid);
  fill(target.firmware, nic.firmware, name + " firmware", nic.where);
  fill_quietly(target.model, nic.model);
  for (const Port& port : nic.ports) {
    auto found = std::ranges::find(target.ports, port.number, &Port::number);
    if (found == target.ports.end()) {
      target.ports.push_back({.number = port.number, .where = port.where});
      found = target.ports.end() - 1;
    }
    lay_over(*found, port, concat(name, " port ", port.number));
  }
  std::ranges::stable_sort(target.ports, {}, &Port::number);
}

void Merger::lay_over(Port& target, const Port& port, const std::string& name) {
  fill_quietly(target.net_name, port.net_name);
  fill_quietly(target.net_index, port.net_index);
  fill_quietly(target.state, port.state);
  fill_quietly(target.phys_state, port.phys_state);
  fill_quietly(target.link_layer, port.link_layer);
  fill(target.gbit_per_s, port.gbit_per_s, name + " Gb/s", port.where);
  fill_quietly(target.rate_text, port.rate_text);
  fill_quietly(target.lid, port.lid);
  fill(target.active_mtu_bytes, port.active_mtu_bytes, name + " MTU", port.where);
  fill_quietly(target.max_mtu_bytes, port.max_mtu_bytes);
  if (target.gids.empty()) target.gids = port.gids;
  for (const auto& counter : port.counters) target.counters.insert(counter);
  fill_quietly(target.gpu_direct, port.gpu_direct);
}

}  // namespace ringcomm::inline v0::topology
