// SPDX-License-Identifier: Apache-2.0
// Questions that several checks ask of a machine.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {

DeviceRef gpu_ref(std::size_t position);
DeviceRef nic_ref(std::size_t position);
DeviceRef numa_ref(std::size_t position);

/// "GPU0, GPU1, GPU2, GPU3 and 4 more"; empty: "nothing".
std::string names_text(const Machine& machine, const std::vector<DeviceRef>& devices);
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");
/// "1 GPU", "3 GPUs".
std::string counted(std::size_t count, std::string_view noun);
bool contains_ignoring_case(std::string_view text, std::string_view word);
std::optional<double> number_in(std::string_view text);

/// Bridges above a function, nearest first; ends at a loop or a position that is not there.
std::vector<int> bridges_above(const Machine& machine, int pci);
/// A GPU or RDMA NIC with its place in the PCI tree.
struct Endpoint {
  DeviceRef device{};
  int host = 0;
  std::optional<int> pci{};
};
std::vector<Endpoint> endpoints(const Machine& machine);
/// The endpoint's function, or nothing.
const PciDevice* function_of(const Machine& machine, const Endpoint& endpoint);

/// The place is known, from the PCI tree or because paths of it are stated: a class that was only guessed
/// from NUMA nodes is no reason for advice.
bool has_place(const Machine& machine, DeviceRef device);

/// CPUs near a GPU: its own list, else those of its NUMA node; nothing when unknown.
std::optional<std::vector<int>> near_cpus(const Machine& machine, const Gpu& gpu);
std::size_t common_count(const std::vector<int>& a, const std::vector<int>& b);
const NumaNode* numa_node(const Machine& machine, int host, int id);
bool has_c2c(const Machine& machine, int gpu);
bool is_rdma_host(const Machine& machine, int host);

std::vector<const LogEvent*> events_of(const TopologyCase& input, LogEventKind kind);
/// The last value that the log gives an environment variable.
std::optional<std::string> variable_of(const TopologyCase& input, std::string_view name);
/// The path as derived; nothing when the matrix does not have the devices.
const Path* path_between(const TopologyCase& input, DeviceRef from, DeviceRef to);

}  // namespace ringcomm::inline v0::diag
