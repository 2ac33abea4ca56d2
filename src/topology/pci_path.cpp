// SPDX-License-Identifier: Apache-2.0
#include "topology/pci_path.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::topology {
namespace {

const PciDevice& pci_at(const Machine& machine, int position) {
  return machine.pci[static_cast<std::size_t>(position)];
}

/// Indexes into both chains of the lowest bridge that they share.
std::optional<std::pair<std::size_t, std::size_t>> meeting(const std::vector<int>& a,
                                                           const std::vector<int>& b) {
  for (std::size_t i = 1; i < a.size(); ++i) {
    const auto found = std::find(b.begin() + (b.empty() ? 0 : 1), b.end(), a[i]);
    if (found != b.end()) return std::pair(i, static_cast<std::size_t>(found - b.begin()));
  }
  return std::nullopt;
}

bool is_one_broadcom_switch(const PciDevice& upper, const PciDevice& lower) {
  return upper.vendor == 0x1000 && lower.vendor == 0x1000 && upper.device && upper.device == lower.device &&
         (*upper.device == 0xc010 || *upper.device == 0xc030);
}

/// Bridges below the common one that are switches of their own.
std::pair<std::size_t, std::size_t> switches_below(const Machine& machine, const std::vector<int>& a,
                                                   const std::vector<int>& b,
                                                   std::pair<std::size_t, std::size_t> at) {
  std::size_t below_a = at.first - 1;
  std::size_t below_b = at.second - 1;
  const auto& common = pci_at(machine, a[at.first]);
  if (below_a > 0 && below_b > 0) {
    const auto& port_a = pci_at(machine, a[below_a]).id;
    const auto& port_b = pci_at(machine, b[below_b]).id;
    // Downstream ports of one switch share its inner bus; switches of their own lie on buses of their own.
    if (port_a.domain == port_b.domain && port_a.bus == port_b.bus) return {below_a - 1, below_b - 1};
  }
  if (below_a > 0 && is_one_broadcom_switch(common, pci_at(machine, a[below_a]))) --below_a;
  if (below_b > 0 && is_one_broadcom_switch(common, pci_at(machine, b[below_b]))) --below_b;
  return {below_a, below_b};
}

PciRoute below_one_bridge(const Machine& machine, const DevicePlace& from, const DevicePlace& to,
                          std::pair<std::size_t, std::size_t> at) {
  PciRoute route;
  const auto [below_from, below_to] = switches_below(machine, from.chain, to.chain, at);
  const std::string bridge = pci_at(machine, from.chain[at.first]).id.to_text();
  route.path_class = below_from == 0 && below_to == 0 ? PathClass::pix : PathClass::pxb;
  route.reason = route.path_class == PathClass::pix
                     ? concat("one bridge ", bridge)
                     : concat(below_from + below_to + 1, " bridges, the highest ", bridge);
  route.up.assign(from.chain.begin(), from.chain.begin() + static_cast<std::ptrdiff_t>(at.first));
  route.down.assign(to.chain.begin(), to.chain.begin() + static_cast<std::ptrdiff_t>(at.second));
  return route;
}

/// As the source shows it, else from the top of the chain: a device other than 0, or on bus 0, lies on a root
/// bus. Device 0 of another bus may be a root port (Xeons have them) as well as a device behind a port that
/// the source does not show. Cloud files give made-up ids (ffff:ff:01.0) to bridges of different sockets,
/// which say nothing.
std::optional<PciRootBus> root_bus_of(const Machine& machine, const std::vector<int>& chain) {
  for (const int position : chain) {
    if (const auto& root = pci_at(machine, position).root_bus) return root;
  }
  if (chain.empty()) return std::nullopt;
  const PciBusId& top = pci_at(machine, chain.back()).id;
  const bool is_made_up = top.domain >= 0xffff && top.bus == 0xff;
  if (is_made_up || (top.bus != 0 && top.device == 0)) return std::nullopt;
  return PciRootBus{.domain = top.domain, .bus = top.bus};
}

PathClass over_host_bridge(const Machine& machine, const DevicePlace& from, const DevicePlace& to,
                           std::string& reason) {
  if (from.numa_id && to.numa_id && from.numa_id != to.numa_id) {
    reason = concat("between NUMA", *from.numa_id, " and NUMA", *to.numa_id);
    return PathClass::sys;
  }
  if (!from.chain.empty() && !to.chain.empty()) {
    const auto a = root_bus_of(machine, from.chain);
    const auto b = root_bus_of(machine, to.chain);
    if (a && b) {
      if (a == b) {
        reason = concat("host bridge of bus ", a->to_text());
        return PathClass::phb;
      }
      if (from.numa_id && from.numa_id == to.numa_id) {
        reason = concat("two host bridges of NUMA", *from.numa_id);
        return PathClass::node;
      }
    } else if (from.numa_id && from.numa_id == to.numa_id) {
      reason = concat("CPUs of NUMA", *from.numa_id, " (host bridges are not shown)");
      return PathClass::phb;
    }
  }
  if (!from.numa_id || !to.numa_id) {
    reason = concat("NUMA node of ", name_of(machine, from.numa_id ? to.device : from.device), " unknown");
    return PathClass::unknown;
  }
  reason =
      concat("PCI place of ", name_of(machine, from.chain.empty() ? from.device : to.device), " unknown");
  return PathClass::unknown;
}

}  // namespace

PciRoute pci_route(const Machine& machine, const DevicePlace& from, const DevicePlace& to) {
  if (const auto at = meeting(from.chain, to.chain)) return below_one_bridge(machine, from, to, *at);
  PciRoute route;
  route.path_class = over_host_bridge(machine, from, to, route.reason);
  route.up = from.chain;
  route.down = to.chain;
  return route;
}

}  // namespace ringcomm::inline v0::topology
