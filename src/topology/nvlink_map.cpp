// SPDX-License-Identifier: Apache-2.0
#include "topology/nvlink_map.hpp"

#include <algorithm>

namespace ringcomm::inline v0::topology {
namespace {

bool is_up(const NvLinkPort& port) { return port.is_active.value_or(false); }

Bandwidth bandwidth_each(const Machine& machine, const CostModel& costs, const Link& link) {
  if (link.gb_per_s_each) {
    const double share = link.kind == LinkKind::c2c ? 1.0 : kPlannedShareOfRaw;
    return {.gb_per_s = *link.gb_per_s_each * share, .source = Source::evidence};
  }
  if (link.kind == LinkKind::c2c) return {};
  return bandwidth_of_one_link(machine.gpus[static_cast<std::size_t>(link.gpu)], costs);
}

LinkBundle bundle_of(const Machine& machine, const CostModel& costs, const Link& link) {
  LinkBundle bundle{.kind = link.kind, .count = link.count, .bandwidth = {}};
  const Bandwidth each = bandwidth_each(machine, costs, link);
  if (link.count && each.gb_per_s)
    bundle.bandwidth = {.gb_per_s = *each.gb_per_s * *link.count, .source = each.source};
  return bundle;
}

LinkBundle sum(const LinkBundle& a, const LinkBundle& b) {
  LinkBundle both{.kind = a.kind, .count = {}, .bandwidth = {}};
  if (a.count && b.count) both.count = *a.count + *b.count;
  if (a.bandwidth.gb_per_s && b.bandwidth.gb_per_s) {
    both.bandwidth = {.gb_per_s = *a.bandwidth.gb_per_s + *b.bandwidth.gb_per_s,
                      .source = std::min(a.bandwidth.source, b.bandwidth.source)};
  }
  return both;
}

LinkBundle weaker(const LinkBundle& a, const LinkBundle& b) {
  LinkBundle least{.kind = a.kind, .count = {}, .bandwidth = {}};
  if (a.count && b.count) least.count = std::min(*a.count, *b.count);
  if (a.bandwidth.gb_per_s && b.bandwidth.gb_per_s)
    least.bandwidth = *a.bandwidth.gb_per_s <= *b.bandwidth.gb_per_s ? a.bandwidth : b.bandwidth;
  return least;
}

template <class Key>
void add(std::map<Key, LinkBundle>& bundles, const Key& key, const LinkBundle& bundle) {
  const auto [place, is_new] = bundles.try_emplace(key, bundle);
  if (!is_new) place->second = sum(place->second, bundle);
}

SwitchKey switch_key(const Machine& machine, const Link& link) {
  if (link.target && link.target->is_hidden_switch()) return {-1, PciBusId{.domain = 0xfffffff}};
  return {machine.gpus[static_cast<std::size_t>(link.gpu)].host, link.target};
}

/// The end as the link says it, else by its target: a GPU of this machine, or the hidden switch.
Link resolved(const Machine& machine, Link link) {
  if (link.end != LinkEnd::unknown || !link.target) return link;
  const int host = machine.gpus[static_cast<std::size_t>(link.gpu)].host;
  const auto peer = std::ranges::find_if(
      machine.gpus, [&](const Gpu& gpu) { return gpu.host == host && gpu.bus == link.target; });
  if (link.target->is_hidden_switch()) {
    link.end = LinkEnd::nvswitch;
  } else if (peer != machine.gpus.end()) {
    link.end = LinkEnd::gpu;
    link.peer = static_cast<int>(peer - machine.gpus.begin());
  }
  return link;
}

LinkBundle total(const std::map<SwitchKey, LinkBundle>& switches) {
  LinkBundle all = switches.begin()->second;
  for (auto next = std::next(switches.begin()); next != switches.end(); ++next) all = sum(all, next->second);
  return all;
}

bool same_fabric(const Gpu& a, const Gpu& b) {
  return a.state.fabric_cluster.empty() || b.state.fabric_cluster.empty() ||
         a.state.fabric_cluster == b.state.fabric_cluster;
}

}  // namespace

Bandwidth bandwidth_of_one_link(const Gpu& gpu, const CostModel& costs) {
  for (const auto& port : gpu.nvlink_ports) {
    if (is_up(port) && port.gb_per_s)
      return {.gb_per_s = *port.gb_per_s * kPlannedShareOfRaw, .source = Source::evidence};
  }
  const auto each = costs.nvlink_gb_per_s(gpu);
  return {.gb_per_s = each, .source = each ? Source::table : Source::unknown};
}

std::vector<GpuLinks> collect_links(const Machine& machine, const CostModel& costs) {
  std::vector<GpuLinks> links(machine.gpus.size());
  for (const auto& written : machine.links) {
    if (written.gpu < 0 || static_cast<std::size_t>(written.gpu) >= links.size()) continue;
    if (written.count == 0) continue;  // said to be off
    const Link link = resolved(machine, written);
    auto& own = links[static_cast<std::size_t>(link.gpu)];
    const LinkBundle bundle = bundle_of(machine, costs, link);
    if (link.kind == LinkKind::c2c || link.end == LinkEnd::numa_node) {
      own.cpu = own.cpu ? sum(*own.cpu, bundle) : bundle;
    } else if (link.end == LinkEnd::nvswitch) {
      add(own.switches, switch_key(machine, link), bundle);
    } else if (link.end == LinkEnd::gpu && link.peer) {
      if (*link.peer == link.gpu) continue;  // a self link joins nothing; topology_checks reports it
      add(own.gpus, *link.peer, bundle);
    } else if (link.end == LinkEnd::unknown || !link.target) {
      own.has_unknown_end = true;  // a GPU whose bus id this machine has not is elsewhere
    }
  }
  // `nvidia-smi nvlink -s` tells that links are up and not where they lead.
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].gpus.empty() && links[i].switches.empty() && !links[i].cpu &&
        std::ranges::any_of(machine.gpus[i].nvlink_ports, is_up))
      links[i].has_unknown_end = true;
  }
  return links;
}

std::optional<NvConnection> connection(const Machine& machine, const std::vector<GpuLinks>& links, int a,
                                       int b) {
  const auto& from = links[static_cast<std::size_t>(a)];
  const auto& to = links[static_cast<std::size_t>(b)];
  const auto there = from.gpus.find(b);
  const auto back = to.gpus.find(a);
  if (there != from.gpus.end() && back != to.gpus.end())
    return NvConnection{.links = weaker(there->second, back->second), .is_switched = false};
  if (there != from.gpus.end()) return NvConnection{.links = there->second, .is_switched = false};
  if (back != to.gpus.end()) return NvConnection{.links = back->second, .is_switched = false};
  const bool meet = std::ranges::any_of(from.switches, [&](const auto& entry) {
    return to.switches.contains(entry.first) &&
           (entry.first.first >= 0 || same_fabric(machine.gpus[static_cast<std::size_t>(a)],
                                                  machine.gpus[static_cast<std::size_t>(b)]));
  });
  if (!meet) return std::nullopt;
  return NvConnection{.links = weaker(total(from.switches), total(to.switches)), .is_switched = true};
}

}  // namespace ringcomm::inline v0::topology
