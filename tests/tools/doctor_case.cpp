// SPDX-License-Identifier: Apache-2.0
#include "doctor_case.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::test {
namespace {

std::vector<int> range(int first, int last) {
  std::vector<int> out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

Machine machine_of_four() {
  Machine machine;
  machine.hosts = {Host{"node01", "Test Machine 4", false}};
  machine.has_gpu_evidence = machine.has_nic_evidence = machine.has_link_evidence = true;
  for (int i = 0; i < 2; ++i) {
    Package package;
    package.id = i;
    package.model_name = "Test CPU 32C";
    machine.packages.push_back(package);
    NumaNode node;
    node.id = i;
    node.package = i;
    node.cpus = range(32 * i, (32 * i) + 31);
    node.memory_bytes = std::uint64_t{256} << 30;
    machine.numa_nodes.push_back(node);
  }
  for (int i = 0; i < 4; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.bus = PciBusId{0, static_cast<std::uint8_t>(0x10 + i), 0, 0};
    gpu.name = "Test GPU";
    gpu.numa_node = i / 2;
    machine.gpus.push_back(gpu);
  }
  for (int i = 0; i < 3; ++i) {
    Nic nic;
    nic.name = concat("mlx5_", i);
    nic.bus = PciBusId{0, static_cast<std::uint8_t>(0x20 + i), 0, 0};
    nic.numa_node = i == 0 ? 0 : 1;
    Port port;
    port.gbit_per_s = i == 2 ? 10 : 200;
    port.state = i == 2 ? PortState::down : PortState::active;
    port.link_layer = LinkLayer::infiniband;
    nic.ports = {port};
    machine.nics.push_back(nic);
  }
  return machine;
}

int links_between(int a, int b) { return a / 2 == b / 2 ? 2 : a + b == 3 ? 1 : 0; }

Path path_between(DeviceRef from, DeviceRef to) {
  Path path;
  if (from == to) {
    path.path_class = PathClass::loc;
    return path;
  }
  const int from_side = from.kind == PartKind::gpu ? from.position / 2 : from.position == 0 ? 0 : 1;
  const int to_side = to.kind == PartKind::gpu ? to.position / 2 : to.position == 0 ? 0 : 1;
  const int links =
      from.kind == PartKind::gpu && to.kind == PartKind::gpu ? links_between(from.position, to.position) : 0;
  path.path_class = links > 0 ? PathClass::nvl : from_side == to_side ? PathClass::pix : PathClass::sys;
  if (links > 0) path.nvlinks = links;
  path.bandwidth = {links > 0 ? 20.0 * links : 10.0, Source::table};
  path.reason = "by hand";
  return path;
}

MachineGraph graph_of_four() {
  MachineGraph graph;
  graph.level_names = {"NV2", "NV1", "SYS"};
  graph.graph.size = 4;
  for (int from = 0; from < 4; ++from) {
    graph.devices.push_back({PartKind::gpu, from});
    graph.graph.keys.push_back(from);
    for (int to = 0; to < 4; ++to) {
      const int links = links_between(from, to);
      graph.graph.edges.push_back({links == 2   ? 0
                                   : links == 1 ? 1
                                                : 2,
                                   links > 0 ? 20.0 * links : 10.0, links});
    }
  }
  return graph;
}

MachineRings rings_of_four() {
  MachineRings rings;
  rings.graph = graph_of_four();
  rings.best = {{0, 1, 2, 3}, {0, 2, 2}, 20.0, 1.0, true, true};
  rings.rings = {{rings.best}, 12, 12, false, "one ring takes every link"};
  std::vector<RingStep> steps;
  for (int i = 0; i < 4; ++i) {
    const int next = (i + 1) % 4;
    const int links = links_between(i, next);
    steps.push_back({{PartKind::gpu, i},
                     {PartKind::gpu, next},
                     concat("NV", links),
                     {20.0 * links, Source::table},
                     concat(links, " NVLinks, by hand")});
    rings.nics.push_back({i, i / 2, 1, PathClass::pix, "nearest"});
    rings.placements.push_back({range(32 * (i / 2), (32 * (i / 2)) + 31), i / 2});
  }
  rings.steps = {steps};
  rings.excluded = {{2, "not ACTIVE (Down, Polling)"}};
  return rings;
}

}  // namespace

TopologyCase four_gpu_case() {
  TopologyCase input;
  input.evidence.machine = machine_of_four();
  for (int i = 0; i < 4; ++i) input.paths.devices.push_back({PartKind::gpu, i});
  for (int i = 0; i < 3; ++i) input.paths.devices.push_back({PartKind::nic, i});
  for (const DeviceRef from : input.paths.devices) {
    for (const DeviceRef to : input.paths.devices) input.paths.paths.push_back(path_between(from, to));
  }
  input.rings = rings_of_four();
  return input;
}

}  // namespace ringcomm::test
