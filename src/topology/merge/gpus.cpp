// SPDX-License-Identifier: Apache-2.0
// GPUs: one is the same by its bus id, else by its UUID, else by its number.
#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// Two bus ids, or two UUIDs, are two GPUs.
bool may_be_one(const Gpu& a, const Gpu& b) {
  return !(a.bus && b.bus && a.bus != b.bus) && (a.uuid.empty() || b.uuid.empty() || a.uuid == b.uuid);
}

void lay_over_ports(Gpu& target, const Gpu& gpu) {
  for (const NvLinkPort& port : gpu.nvlink_ports) {
    const auto found = std::ranges::find(target.nvlink_ports, port.index, &NvLinkPort::index);
    if (found == target.nvlink_ports.end()) {
      target.nvlink_ports.push_back(port);
      continue;
    }
    fill_quietly(found->is_active, port.is_active);
    fill_quietly(found->gb_per_s, port.gb_per_s);
    fill_quietly(found->remote, port.remote);
    fill_quietly(found->remote_name, port.remote_name);
  }
  std::ranges::sort(target.nvlink_ports, {}, &NvLinkPort::index);
}

void lay_over_state(GpuState& target, const GpuState& state) {
  fill_quietly(target.mig_enabled, state.mig_enabled);
  fill_quietly(target.compute_mode, state.compute_mode);
  fill_quietly(target.persistence, state.persistence);
  fill_quietly(target.bar1_bytes, state.bar1_bytes);
  fill_quietly(target.ecc_uncorrected, state.ecc_uncorrected);
  fill_quietly(target.remap_pending, state.remap_pending);
  fill_quietly(target.remap_failed, state.remap_failed);
  fill_quietly(target.fabric_state, state.fabric_state);
  fill_quietly(target.fabric_cluster, state.fabric_cluster);
  fill_quietly(target.clock_event_reasons, state.clock_event_reasons);
}

}  // namespace

void Merger::add_gpus(const Reading& reading) {
  auto& machine = merged_.machine;
  const auto& gpus = reading.machine.gpus;
  std::vector<char> is_taken(machine.gpus.size() + gpus.size(), 0);
  at_.gpus.assign(gpus.size(), -1);
  // Those that have an identity choose first: a number is only a number.
  for (const bool by_identity : {true, false}) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const Gpu& gpu = gpus[i];
      if (by_identity != (gpu.bus || !gpu.uuid.empty())) continue;
      const int host = moved(at_.hosts, gpu.host).value_or(0);
      auto position = find_gpu(gpu, host, is_taken);
      if (!position) {
        position = static_cast<int>(machine.gpus.size());
        const auto same_number = std::ranges::find_if(
            machine.gpus, [&](const Gpu& other) { return other.host == host && other.index == gpu.index; });
        const int index = same_number == machine.gpus.end() ? gpu.index : free_index(host);
        if (index != gpu.index)
          contradict(name_on(host, concat("GPU", gpu.index, " bus id")),
                     same_number->bus ? same_number->bus->to_text() : same_number->uuid,
                     gpu.bus ? gpu.bus->to_text() : gpu.uuid, gpu.where);
        machine.gpus.push_back({.host = host, .index = index, .where = gpu.where});
      }
      const auto at = static_cast<std::size_t>(*position);
      if (at < is_taken.size()) is_taken[at] = 1;
      at_.gpus[i] = *position;
      lay_over(machine.gpus[at], gpu, name_of(machine, {PartKind::gpu, *position}), at_);
    }
  }
}

std::optional<int> Merger::find_gpu(const Gpu& gpu, int host, const std::vector<char>& is_taken) const {
  const auto& gpus = merged_.machine.gpus;
  const auto find = [&](auto is_it) -> std::optional<int> {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (gpus[i].host == host && is_taken[i] == 0 && is_it(gpus[i])) return static_cast<int>(i);
    }
    return std::nullopt;
  };
  if (gpu.bus) {
    if (const auto found = find([&](const Gpu& other) { return other.bus == gpu.bus; })) return found;
  }
  if (!gpu.uuid.empty()) {
    const auto found =
        find([&](const Gpu& other) { return other.uuid == gpu.uuid && may_be_one(other, gpu); });
    if (found) return found;
  }
  return find([&](const Gpu& other) { return other.index == gpu.index && may_be_one(other, gpu); });
}

int Merger::free_index(int host) const {
  int index = 0;
  for (const Gpu& gpu : merged_.machine.gpus) {
    if (gpu.host == host) index = std::max(index, gpu.index + 1);
  }
  return index;
}

void Merger::lay_over(Gpu& target, const Gpu& gpu, const std::string& name, const Positions& at) {
  if (target.index != gpu.index)
    note(gpu.where, concat("GPU", gpu.index), concat("is ", name, " elsewhere: joined by bus id or UUID"));
  if (target.bus && gpu.bus && target.bus == gpu.bus)
    fill(target.uuid, gpu.uuid, name + " UUID", gpu.where);
  else
    fill_quietly(target.uuid, gpu.uuid);
  if (gpu.bus && !target.bus) origins_.emplace(name + " bus id", gpu.where);
  fill_quietly(target.bus, gpu.bus);
  fill_quietly(target.pci, moved(at.pci, gpu.pci));
  fill_quietly(target.vendor, gpu.vendor);
  fill_quietly(target.name, gpu.name);
  fill(target.compute_capability, gpu.compute_capability, name + " compute capability", gpu.where);
  fill_quietly(target.rank, gpu.rank);
  fill(target.numa_node, gpu.numa_node, name + " NUMA node", gpu.where);
  fill_quietly(target.memory_numa_node, gpu.memory_numa_node);
  fill(target.cpus, gpu.cpus, name + " CPUs", gpu.where);
  fill_quietly(target.gpu_direct, gpu.gpu_direct);
  lay_over_ports(target, gpu);
  lay_over_state(target.state, gpu.state);
}

}  // namespace ringcomm::inline v0::topology
