// SPDX-License-Identifier: Apache-2.0
// Numbers that one source states and another adds up: devices of a host, NVLinks of a GPU.
#include <array>
#include <numeric>

#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// People paste one device of these, and a job uses some: their count says nothing of the machine.
bool lists_whole_machine(std::string_view format) {
  static constexpr std::array<std::string_view, 5> kWhole{"nccl-topo-xml", "hwloc-xml", "nvidia-smi-topo",
                                                          "sysfs-ib", "live"};
  return std::ranges::any_of(kWhole, [&](std::string_view whole) { return format.starts_with(whole); });
}

/// Nothing as long as one of them is unknown.
std::optional<int> sum_of(const std::vector<const Link*>& links) {
  int sum = 0;
  for (const Link* const link : links) {
    if (!link->count || *link->count > 1000000) return std::nullopt;
    sum += *link->count;
  }
  return links.empty() ? std::nullopt : std::optional(sum);
}

}  // namespace

void Merger::compare_counts(const Reading& reading) {
  if (!lists_whole_machine(reading.format)) return;
  const Where where{reading.file, 0};
  for (std::size_t host = 0; host < merged_.machine.hosts.size(); ++host) {
    const auto is_here = [&](const auto& device) {
      return moved(at_.hosts, device.host) == static_cast<int>(host);
    };
    const auto gpus = std::ranges::count_if(reading.machine.gpus, is_here);
    const auto nics = std::ranges::count_if(reading.machine.nics, is_here);
    const auto rdma = std::ranges::count_if(reading.machine.nics,
                                            [&](const Nic& nic) { return is_here(nic) && nic.is_rdma; });
    if (gpus > 0) compare_count(name_on(static_cast<int>(host), "GPUs"), static_cast<int>(gpus), where);
    // A source without any NIC could not show them; one with sockets only could, and has no RDMA.
    if (nics > 0) compare_count(name_on(static_cast<int>(host), "RDMA NICs"), static_cast<int>(rdma), where);
  }
}

void Merger::compare_count(const std::string& subject, int count, const Where& where) {
  const auto [known, is_new] = counts_.emplace(subject, count);
  if (is_new) origins_.emplace(subject, where);
  if (known->second != count) contradict(subject, concat(known->second), concat(count), where);
}

void Merger::compare_link_totals(const Reading& reading) {
  std::map<int, std::vector<const Link*>> by_gpu;
  for (const Link& link : reading.machine.links) {
    const auto gpu = moved(at_.gpus, link.gpu);
    if (gpu && link.kind == LinkKind::nvlink) by_gpu[*gpu].push_back(&link);
  }
  std::map<int, std::pair<int, Where>> totals;
  for (const auto& [gpu, links] : by_gpu) {
    if (const auto sum = sum_of(links)) totals.emplace(gpu, std::pair(*sum, links.front()->where));
  }
  for (const Gpu& gpu : reading.machine.gpus) {
    const auto position = moved(at_.gpus, static_cast<int>(&gpu - reading.machine.gpus.data()));
    const auto active = std::ranges::count(gpu.nvlink_ports, std::optional(true), &NvLinkPort::is_active);
    const bool is_known = std::ranges::any_of(
        gpu.nvlink_ports, [](const NvLinkPort& port) { return port.is_active.has_value(); });
    if (position && is_known) totals.emplace(*position, std::pair(static_cast<int>(active), gpu.where));
  }
  for (const auto& [gpu, total] : totals)
    compare_count(name_of(merged_.machine, {PartKind::gpu, gpu}) + " NVLinks", total.first, total.second);
  add_stated_link_counts(reading);
}

/// NV18 of a switch is the count of each GPU; NV1 and NV2 of a mesh are counts of pairs, and add up to it.
void Merger::add_stated_link_counts(const Reading& reading) {
  for (const StatedPath& path : reading.machine.stated_paths) {
    if (path.from.kind != PartKind::gpu || path.to.kind != PartKind::gpu) continue;
    const auto from = moved(at_.gpus, path.from.position);
    if (!from || path.from.position == path.to.position) continue;
    StatedCounts& counts = stated_counts_[{readings_added_, *from}];
    if (counts.paths++ == 0) counts.where = path.where;
    // Hostile counts must not overflow the sum.
    const int nvlinks = std::clamp(path.nvlinks.value_or(0), 0, 100000);
    counts.sum += nvlinks;
    counts.max = std::max(counts.max, nvlinks);
  }
}

void Merger::compare_stated_link_counts() {
  const auto& gpus = merged_.machine.gpus;
  for (const auto& [key, stated] : stated_counts_) {
    const auto& gpu = gpus[static_cast<std::size_t>(key.second)];
    const auto others = std::ranges::count(gpus, gpu.host, &Gpu::host) - 1;
    const std::string subject = name_of(merged_.machine, {PartKind::gpu, key.second}) + " NVLinks";
    const auto total = counts_.find(subject);
    // A row that is cut has no sum, and a source of no NVLinks may not show them.
    if (total == counts_.end() || stated.paths < others || stated.max == 0) continue;
    if (total->second != stated.sum && total->second != stated.max)
      contradict(subject, concat(total->second), concat("NV", stated.max), stated.where);
  }
}

}  // namespace ringcomm::inline v0::topology
