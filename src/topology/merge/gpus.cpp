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
  const std::vector<char> is_unclear = hosts_with_unclear_numbers(reading);
  std::vector<char> is_taken(machine.gpus.size() + gpus.size(), 0);
  at_.gpus.assign(gpus.size(), -1);
  // Those that have an identity choose first: a number is only a number.
  for (const bool by_identity : {true, false}) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (by_identity != (gpus[i].bus || !gpus[i].uuid.empty())) continue;
      Gpu gpu = gpus[i];
      const int host = moved(at_.hosts, gpu.host).value_or(0);
      auto position = find_gpu(gpu, host, is_taken, is_unclear[static_cast<std::size_t>(host)] != 0);
      if (!position && is_unclear[static_cast<std::size_t>(host)] != 0) {
        note(gpu.where, gpu.bus ? gpu.bus->to_text() : gpu.name,
             "the other files do not say which of their GPUs has this bus id: not joined");
        continue;
      }
      if (!position && reading.format == "nccl-log") position = find_misread_gpu(gpu, host);
      const bool is_new = !position;
      if (is_new) position = add_gpu(gpu, host, reading.format);
      const auto at = static_cast<std::size_t>(*position);
      is_taken[at] = 1;
      at_.gpus[i] = *position;
      const bool is_link_count_unknown = !reading.machine.has_link_evidence || gpu.is_link_count_unknown;
      machine.gpus[at].is_link_count_unknown =
          is_link_count_unknown && (is_new || machine.gpus[at].is_link_count_unknown);
      lay_over(machine.gpus[at], gpu, name_of(machine, {PartKind::gpu, *position}), at_);
    }
  }
}

int Merger::add_gpu(const Gpu& gpu, int host, std::string_view format) {
  auto& gpus = merged_.machine.gpus;
  const auto same_number = std::ranges::find_if(
      gpus, [&](const Gpu& other) { return other.host == host && other.index == gpu.index; });
  const int index = same_number == gpus.end() ? gpu.index : free_index(host);
  // lspci numbers what it shows, which need not be all.
  if (index != gpu.index && format != "lspci")
    contradict(name_on(host, concat("GPU", gpu.index, " bus id")),
               same_number->bus ? same_number->bus->to_text() : same_number->uuid,
               gpu.bus ? gpu.bus->to_text() : gpu.uuid, gpu.where);
  gpus.push_back({.host = host, .index = index, .where = gpu.where});
  return static_cast<int>(gpus.size()) - 1;
}

/// lspci has no numbers of its own. Its order is nvidia-smi's only where both list the same number of GPUs.
std::vector<char> Merger::hosts_with_unclear_numbers(const Reading& reading) const {
  const auto& listed = reading.machine.gpus;
  std::vector<char> is_unclear(std::max<std::size_t>(merged_.machine.hosts.size(), 1), 0);
  if (reading.format != "lspci" || listed.empty()) return is_unclear;
  // An integrated GPU of another maker stands behind the others, and other tools do not list it.
  const auto count = std::ranges::count(listed, listed.front().vendor, &Gpu::vendor);
  std::map<int, std::pair<std::ptrdiff_t, bool>> known;  // GPUs of a host, and whether a bus id is missing
  for (const Gpu& gpu : merged_.machine.gpus) {
    auto& [gpus, is_any_without] = known[gpu.host];
    ++gpus;
    is_any_without = is_any_without || !gpu.bus;
  }
  for (const auto& [host, gpus] : known) {
    if (gpus.second && gpus.first != count) is_unclear[static_cast<std::size_t>(host)] = 1;
  }
  return is_unclear;
}

/// A word of a log may be half of one, or of two ranks. What has the rank or number of a GPU that a stronger
/// source lists is that GPU, and a new device never comes of it.
std::optional<int> Merger::find_misread_gpu(Gpu& gpu, int host) {
  const auto& gpus = merged_.machine.gpus;
  const auto find = [&](auto is_it) -> std::optional<int> {
    for (std::size_t i = 0; i < strong_gpus_; ++i) {
      if (gpus[i].host == host && gpus[i].bus && is_it(gpus[i])) return static_cast<int>(i);
    }
    return std::nullopt;
  };
  if (!gpu.bus) return std::nullopt;
  auto found = find([&](const Gpu& other) { return gpu.rank && other.rank == gpu.rank; });
  if (!found) found = find([&](const Gpu& other) { return other.index == gpu.index; });
  if (!found) return std::nullopt;
  const Gpu& target = gpus[static_cast<std::size_t>(*found)];
  contradict(name_of(merged_.machine, {PartKind::gpu, *found}) + " bus id", target.bus->to_text(),
             gpu.bus->to_text(), gpu.where);
  gpu.index = target.index;
  gpu.bus.reset();
  gpu.pci.reset();
  gpu.is_link_count_unknown = true;
  return found;
}

std::optional<int> Merger::find_gpu(const Gpu& gpu, int host, const std::vector<char>& is_taken,
                                    bool by_bus_only) const {
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
  if (by_bus_only) return std::nullopt;
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
