// SPDX-License-Identifier: Apache-2.0
#include "diag/topology/nvlink_counts.hpp"

#include <algorithm>

#include "diag/topology/lookup.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {

std::optional<int> active_ports(const Gpu& gpu) {
  int active = 0;
  for (const NvLinkPort& port : gpu.nvlink_ports) {
    if (!port.is_active) return std::nullopt;
    active += *port.is_active ? 1 : 0;
  }
  return active;
}

LinkCounts::LinkCounts(const Machine& machine) : machine_(machine), size_(machine.gpus.size()) {
  directed_.resize(size_ * size_);
  totals_.resize(size_);
  switched_.resize(size_, false);
  is_lost_.resize(size_, false);
  wheres_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) wheres_[i] = machine.gpus[i].where;
  if (std::ranges::any_of(machine.links, [](const Link& link) { return link.kind != LinkKind::c2c; })) {
    read_links();
  } else if (std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return !gpu.nvlink_ports.empty(); })) {
    read_ports();
  } else if (machine.has_link_evidence) {
    read_matrix();
  }
}

void LinkCounts::read_links() {
  std::vector<int> sums(size_, 0);
  for (std::size_t i = 0; i < size_; ++i) is_lost_[i] = machine_.gpus[i].is_link_count_unknown;
  for (std::size_t i = 0; i < size_ * size_; ++i) {
    if (!is_lost_[i / size_] && !is_lost_[i % size_]) directed_[i] = 0;
  }
  for (const Link& link : machine_.links) {
    if (link.kind == LinkKind::c2c || link.gpu < 0 || static_cast<std::size_t>(link.gpu) >= size_) continue;
    const auto gpu = static_cast<std::size_t>(link.gpu);
    if (link.end == LinkEnd::gpu && link.peer == link.gpu) continue;  // topology_file_self_link
    wheres_[gpu] = link.where;
    if (!link.count || (link.end == LinkEnd::gpu && !link.peer)) {
      is_lost_[gpu] = true;
    } else {
      sums[gpu] += *link.count;
    }
    if (link.end == LinkEnd::nvswitch) switched_[gpu] = true;
    if (link.end != LinkEnd::gpu || !link.peer || static_cast<std::size_t>(*link.peer) >= size_) continue;
    auto& pair = directed_[(gpu * size_) + static_cast<std::size_t>(*link.peer)];
    pair = link.count && pair ? std::optional(*pair + *link.count) : std::nullopt;
  }
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lost_[i]) totals_[i] = sums[i];
  }
}

void LinkCounts::read_ports() {
  for (std::size_t i = 0; i < size_; ++i) {
    if (machine_.gpus[i].nvlink_ports.empty()) continue;
    totals_[i] = active_ports(machine_.gpus[i]);
    is_lost_[i] = !totals_[i];
  }
}

void LinkCounts::read_matrix() {
  for (const StatedPath& path : machine_.stated_paths) {
    if (path.from.kind != PartKind::gpu || path.to.kind != PartKind::gpu || path.from == path.to) continue;
    const auto from = static_cast<std::size_t>(path.from.position);
    const auto to = static_cast<std::size_t>(path.to.position);
    if (from >= size_ || to >= size_) continue;
    wheres_[from] = path.where;
    const bool is_linked = path.path_class == PathClass::nvl;
    if (path.path_class == PathClass::unknown || (is_linked && !path.nvlinks)) {
      is_lost_[from] = true;
      continue;
    }
    directed_[(from * size_) + to] = is_linked ? *path.nvlinks : 0;
  }
  judge_matrix();
}

/// Behind switches a pair has as many links as its weaker end; a matrix that obeys this everywhere is taken
/// for a switched fabric (or a full mesh with equal counts, whose sums are alike as well).
void LinkCounts::judge_matrix() {
  std::vector<int> most(size_, 0);
  std::vector<bool> has_any(size_, false);
  for (std::size_t a = 0; a < size_; ++a) {
    for (std::size_t b = 0; b < size_; ++b) {
      const auto count = a == b ? std::nullopt : pair(a, b);
      has_any[a] = has_any[a] || count.has_value();
      most[a] = std::max(most[a], count.value_or(0));
    }
  }
  bool is_switch = true;
  for (std::size_t a = 0; a < size_; ++a) {
    for (std::size_t b = a + 1; b < size_; ++b) {
      const int count = pair(a, b).value_or(0);
      is_switch = is_switch && (count == 0 || count == std::min(most[a], most[b]));
    }
  }
  for (std::size_t i = 0; i < size_; ++i) {
    if (is_lost_[i] || !has_any[i]) continue;
    if (most[i] == 0) {
      totals_[i] = 0;
    } else if (is_switch && peers(i) > 2) {
      switched_[i] = true;
      totals_[i] = most[i];
    }
  }
}

std::optional<int> LinkCounts::pair(std::size_t a, std::size_t b) const {
  const auto there = directed(a, b);
  return there ? there : directed(b, a);
}

std::size_t LinkCounts::peers(std::size_t gpu) const {
  std::size_t count = 0;
  for (std::size_t other = 0; other < size_; ++other) {
    if (other != gpu && pair(gpu, other).value_or(0) > 0) ++count;
  }
  return count;
}

std::vector<std::size_t> LinkCounts::fabric_without(std::size_t gpu) const {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < size_; ++i) {
    if (i == gpu || machine_.gpus[i].host != machine_.gpus[gpu].host) continue;
    if (machine_.gpus[i].is_link_count_unknown) continue;
    if (pair(gpu, i).value_or(0) > 0) return {};
    others.push_back(i);
  }
  for (const std::size_t a : others) {
    for (const std::size_t b : others) {
      const bool both_switched = switched_[a] && switched_[b];
      if (a < b && !both_switched && pair(a, b).value_or(0) == 0) {
        // Ports tell how many links a GPU has, but not where they end.
        const bool by_ports =
            machine_.links.empty() && totals_[a].value_or(0) > 0 && totals_[b].value_or(0) > 0;
        if (!by_ports) return {};
      }
    }
  }
  return others;
}

void LinkCounts::say_unknown(Report& report) const {
  if (size_ < 2) return;
  std::vector<DeviceRef> lost;
  for (std::size_t i = 0; i < size_; ++i) {
    if (is_lost_[i]) lost.push_back(gpu_ref(i));
  }
  if (!lost.empty()) {
    report.unknown(concat("the number of NVLinks of ", names_text(machine_, lost), " is not in the evidence"),
                   Ask::nvlink, wheres_[static_cast<std::size_t>(lost.front().position)], lost);
  } else if (!machine_.has_link_evidence) {
    report.unknown("the evidence does not show NVLinks (topo -mp hides them)", Ask::topo_matrix);
  }
}

}  // namespace ringcomm::inline v0::diag
