// SPDX-License-Identifier: Apache-2.0
// Links, stated paths and peer-to-peer answers, moved to the positions of the merged machine.
#include <set>

#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

using GpuAndKind = std::pair<int, LinkKind>;

bool has_same_end(const Link& a, const Link& b) {
  return a.end == b.end && a.peer == b.peer && a.target == b.target;
}

}  // namespace

void Merger::add_links(const Reading& reading) {
  auto& links = merged_.machine.links;
  const std::size_t known = links.size();
  std::set<GpuAndKind> have;
  for (const Link& link : links) have.emplace(link.gpu, link.kind);
  std::multimap<GpuAndKind, std::size_t> by_gpu;
  for (std::size_t i = 0; i < known; ++i) by_gpu.emplace(GpuAndKind(links[i].gpu, links[i].kind), i);
  for (Link link : reading.machine.links) {
    const auto gpu = moved(at_.gpus, link.gpu);
    if (!gpu) continue;
    link.gpu = *gpu;
    if (link.end == LinkEnd::gpu) link.peer = moved(at_.gpus, link.peer);
    if (link.end == LinkEnd::numa_node) link.peer = moved(at_.numa_nodes, link.peer);
    // Two files may draw the links of a GPU in two ways (by switch, or in one sum): only one of them counts.
    if (!have.contains({link.gpu, link.kind})) {
      links.push_back(link);
      continue;
    }
    const auto [first, last] = by_gpu.equal_range({link.gpu, link.kind});
    for (auto other = first; other != last; ++other) {
      if (!has_same_end(links[other->second], link)) continue;
      fill_quietly(links[other->second].count, link.count);
      fill_quietly(links[other->second].gb_per_s_each, link.gb_per_s_each);
      break;
    }
  }
}

void Merger::add_stated_paths(const Reading& reading) {
  auto& paths = merged_.machine.stated_paths;
  for (StatedPath path : reading.machine.stated_paths) {
    const auto from = moved(at_, path.from);
    const auto to = moved(at_, path.to);
    if (!from || !to) continue;
    path.from = *from;
    path.to = *to;
    const bool is_between_gpus = from->kind == PartKind::gpu && to->kind == PartKind::gpu;
    const bool is_weak = is_between_gpus && !reading.machine.has_link_evidence;
    const auto [known, is_new] = paths_.emplace(std::pair(*from, *to), paths.size());
    if (is_new) {
      paths.push_back(path);
      weak_paths_.push_back(is_weak ? 1 : 0);
      continue;
    }
    StatedPath& target = paths[known->second];
    char& target_is_weak = weak_paths_[known->second];
    if (target_is_weak == 1 && !is_weak) {
      std::swap(target, path);
      target_is_weak = 0;
      fill_quietly(target.gb_per_s, path.gb_per_s);
      continue;
    }
    fill_quietly(target.gb_per_s, path.gb_per_s);
    if (is_weak && target_is_weak == 0 && target.path_class == PathClass::nvl) continue;
    const DeviceRef low = std::min(*from, *to);
    const DeviceRef high = std::max(*from, *to);
    const std::string subject = concat(name_of(merged_.machine, low), '-', name_of(merged_.machine, high));
    if (target.path_class == PathClass::unknown) target.path_class = path.path_class;
    if (path.path_class != PathClass::unknown && path.path_class != target.path_class) {
      origins_.insert_or_assign(subject + " path", target.where);
      contradict(subject + " path", std::string(name_of(target.path_class)),
                 std::string(name_of(path.path_class)), path.where);
    }
    origins_.emplace(subject + " NVLinks", target.where);
    fill(target.nvlinks, path.nvlinks, subject + " NVLinks", path.where);
  }
}

void Merger::add_p2p(const Reading& reading) {
  auto& all = merged_.machine.p2p;
  std::map<std::tuple<int, int, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < all.size(); ++i)
    known.emplace(std::tuple(all[i].from, all[i].to, all[i].capability), i);
  for (P2pStatus status : reading.machine.p2p) {
    const auto from = moved(at_.gpus, status.from);
    const auto to = moved(at_.gpus, status.to);
    if (!from || !to) continue;
    status.from = *from;
    status.to = *to;
    const auto [found, is_new] = known.emplace(std::tuple(*from, *to, status.capability), all.size());
    if (is_new) {
      all.push_back(status);
      continue;
    }
    const P2pStatus& target = all[found->second];
    if (target.status == status.status) continue;
    const std::string subject =
        concat(name_of(merged_.machine, {PartKind::gpu, *from}), '-',
               name_of(merged_.machine, {PartKind::gpu, *to}), " p2p ", status.capability);
    origins_.insert_or_assign(subject, target.where);
    contradict(subject, target.status, status.status, status.where);
  }
}

}  // namespace ringcomm::inline v0::topology
