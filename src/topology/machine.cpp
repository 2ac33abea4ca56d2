// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/machine.hpp"

#include <cstddef>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

std::string on_host(const Machine& machine, int host, const std::string& name) {
  return machine.hosts.size() > 1 ? concat("host", host, "/", name) : name;
}

}  // namespace

std::string name_of(const Machine& machine, DeviceRef device) {
  const auto position = static_cast<std::size_t>(device.position);
  switch (device.kind) {
    case PartKind::gpu:
      return on_host(machine, machine.gpus[position].host, concat("GPU", machine.gpus[position].index));
    case PartKind::nic:
      return on_host(machine, machine.nics[position].host, machine.nics[position].name);
    case PartKind::numa_node:
      return on_host(machine, machine.numa_nodes[position].host,
                     concat("NUMA", machine.numa_nodes[position].id));
  }
  return {};
}

}  // namespace ringcomm::inline v0
