// SPDX-License-Identifier: Apache-2.0
// hwloc XML.
#include <algorithm>
#include <array>
#include <set>

#include "diag/topology_facts/facts.hpp"
#include "ringcomm/topology/rank_order.hpp"

namespace ringcomm::topology_facts {
namespace {

using Levels = std::map<std::string, int>;
using Ints = std::vector<int>;

constexpr std::string_view kDgx2 = "hwloc-xml/dgx2-16xv100-12nvswitch.xml";
constexpr std::string_view kFormat3 = "hwloc-xml/dgx2-xml-format-3.0.xml";
constexpr std::string_view kPower8 = "hwloc-xml/power8-4xp100-nvlink.xml";
constexpr std::string_view kLassen = "hwloc-xml/power9-4xv100-4ib.xml";
constexpr std::string_view kGpuMemory = "hwloc-xml/power9-6xv100-gpu-memory-numa.xml";
constexpr std::string_view kFormat1 = "hwloc-xml/power8-4xp100-format1.xml";
constexpr std::string_view kG4dn = "hwloc-xml/g4dn-metal-8xt4.xml";
constexpr std::string_view kSandyBridge = "hwloc-xml/snb-2s-gpu-opencl-mlx5.xml";
constexpr std::string_view kWestmere = "hwloc-xml/westmere-2s-mlx4.xml";

std::size_t with_cpus(const FactCase& it) {
  return static_cast<std::size_t>(std::ranges::count_if(
      it.machine().numa_nodes, [](const NumaNode& one) { return one.cpus && !one.cpus->empty(); }));
}

void expect_unknown_speeds(const FactCase& it) {
  for (const PciDevice& device : it.machine().pci) {
    const auto speed = device.link.gb_per_s();
    EXPECT_TRUE(!speed || *speed > 0) << device.id.to_text();
  }
  for (const Gpu& one : it.machine().gpus) {
    ASSERT_TRUE(one.bus);
    EXPECT_FALSE(function_of(it, *one.bus).link.gb_per_s()) << "GPU" << one.index;
  }
}

/// Links of a GPU that end in switches, by the switch's bus id.
std::map<PciBusId, const Link*> switch_links(const FactCase& it, int position) {
  std::map<PciBusId, const Link*> links;
  for (const Link& link : it.machine().links) {
    if (link.gpu == position && link.end == LinkEnd::nvswitch && link.target) links[*link.target] = &link;
  }
  return links;
}

/// Positions in numa_nodes that GPU links of a node's kind end in.
std::size_t links_to_nodes(const FactCase& it) {
  return static_cast<std::size_t>(std::ranges::count_if(
      it.machine().links, [](const Link& link) { return link.end == LinkEnd::numa_node; }));
}

constexpr std::array kFacts{
    Fact{kDgx2, 1, "2 packages",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().packages.size(), 2U);
           EXPECT_EQ(with_cpus(it), 2U);
           EXPECT_EQ(cpu_count(it), 4U);
         }},
    Fact{kDgx2, 2, "nvml0-7",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().gpus.size(), 16U);
           for (int i = 0; i < 16; ++i) EXPECT_EQ(gpu(it, i).numa_node, i / 8) << i;
         }},
    Fact{kDgx2, 3, "PCIe 15.75",
         [](const FactCase& it) {
           for (int i = 0; i < 16; ++i) {
             ASSERT_TRUE(gpu(it, i).bus);
             EXPECT_NEAR(function_of(it, *gpu(it, i).bus).link.gb_per_s().value_or(0), 15.75, 0.01) << i;
           }
         }},
    Fact{kDgx2, 4, "one NVLinkBandwidth",
         [](const FactCase& it) {
           std::set<PciBusId> low;
           std::set<PciBusId> high;
           for (int i = 0; i < 16; ++i) {
             const auto links = switch_links(it, i);
             EXPECT_EQ(links.size(), 6U) << i;
             for (const auto& [target, link] : links) {
               (i < 8 ? low : high).insert(target);
               EXPECT_NEAR(link->gb_per_s_each.value_or(0) * link->count.value_or(0), 25, 0.01);
             }
           }
           EXPECT_EQ(low.size(), 6U);
           EXPECT_EQ(high.size(), 6U);
           EXPECT_TRUE(std::ranges::none_of(low, [&](const PciBusId& id) { return high.contains(id); }));
         }},
    Fact{kDgx2, 5, "trunk links",
         [](const FactCase& it) {
           // every link that was read goes from a GPU to a switch of its own half
           EXPECT_EQ(it.machine().links.size(), 96U);
           EXPECT_TRUE(std::ranges::all_of(it.machine().links,
                                           [](const Link& link) { return link.end == LinkEnd::nvswitch; }));
         }},
    Fact{kDgx2, 6, "after merging",
         [](const FactCase& it) {
           expect_all_pairs(it, PathClass::nvl, 6);  // 6 x 25 GB/s = 150000 MB/s
         }},
    Fact{kFormat3, 1, "hwloc 2.x must refuse",
         [](const FactCase& it) {
           ASSERT_EQ(it.made.unread.size(), 1U);
           EXPECT_EQ(it.made.unread[0].status.code(), StatusCode::not_available);
           EXPECT_TRUE(it.readings.empty());
         }},
    Fact{kFormat3, 2, "the tool must name",
         [](const FactCase& it) {
           const auto problem = finding(it, "hwloc_too_old");
           ASSERT_TRUE(problem);
           EXPECT_NE(problem->evidence[0].read.find("3.0"), std::string::npos) << problem->evidence[0].read;
           EXPECT_NE(problem->fix.find("--of v2xml"), std::string::npos) << problem->fix;
         }},
    Fact{kPower8, 1, "2 NUMA", [](const FactCase& it) { EXPECT_EQ(with_cpus(it), 2U); }},
    Fact{kPower8, 2, "NVLinkBandwidth of 6",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 4U);
           EXPECT_EQ(links_to_nodes(it), 4U);  // each GPU to its own package
         }},
    Fact{kPower8, 3, "pairs (0,1)",
         [](const FactCase& it) {
           for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 3)}) {
             EXPECT_EQ(between_gpus(it, a, b), PathClass::nvl);
           }
           for (const auto& [a, b] : {std::pair(0, 2), std::pair(0, 3), std::pair(1, 2), std::pair(1, 3)}) {
             EXPECT_EQ(between_gpus(it, a, b), PathClass::sys) << a << b;
           }
           for (const Link& link : it.machine().links) {
             EXPECT_NEAR(link.gb_per_s_each.value_or(0) * link.count.value_or(0), 40, 0.01);
           }
         }},
    Fact{kPower8, 4, "best rings",
         [](const FactCase& it) {
           const auto levels = best_levels(it);
           EXPECT_EQ(levels.at("SYS"), 2);
           EXPECT_EQ(levels.size(), 2U);
           EXPECT_EQ(best_ring_count(it), 2U);
           EXPECT_TRUE(is_same_ring(best_order(it), {0, 1, 2, 3}) ||
                       is_same_ring(best_order(it), {0, 1, 3, 2}));
         }},
    Fact{kPower8, 5, "transitive closure",
         [](const FactCase& it) {
           // a closure after the failed merge would wipe the matrix: it is still there
           EXPECT_EQ(it.machine().links.size(), 8U);
           EXPECT_EQ(between_gpus(it, 0, 1), PathClass::nvl);
         }},
    Fact{kLassen, 1, "2 packages",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().packages.size(), 2U);
           EXPECT_EQ(numa_ids(it), (Ints{0, 8}));
           EXPECT_EQ(cpu_count(it), 160U);
         }},
    Fact{kLassen, 2, "GPU 0,1 on NUMA 0",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 0, 8, 8}));
         }},
    Fact{kLassen, 3, "mlx5_0,1 on 0",
         [](const FactCase& it) {
           for (int i = 0; i < 4; ++i) {
             const Nic& one = nic(it, "mlx5_" + std::to_string(i));
             EXPECT_EQ(one.numa_node, i < 2 ? 0 : 8) << i;
             ASSERT_FALSE(one.ports.empty());
             EXPECT_EQ(one.ports[0].state, PortState::active) << i;
           }
         }},
    Fact{kLassen, 4, "no NVLink matrix",
         [](const FactCase& it) {
           EXPECT_TRUE(it.machine().links.empty());
           EXPECT_FALSE(it.machine().has_link_evidence);
           EXPECT_TRUE(finding(it, "nvlink_missing_on_gpu", CheckState::unknown));
         }},
    Fact{kLassen, 5, "socket-contiguous", [](const FactCase& it) { EXPECT_EQ(numa_crossings(it), 2); }},
    Fact{kLassen, 6, "NIC per GPU",
         [](const FactCase& it) {
           for (int i = 0; i < 4; ++i) EXPECT_EQ(nic_for(it, i), "mlx5_" + std::to_string(i));
         }},
    Fact{kGpuMemory, 1, "8 NUMA nodes",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().numa_nodes.size(), 8U);
           EXPECT_EQ(with_cpus(it), 2U);
           for (int id = 250; id < 256; ++id) {
             EXPECT_TRUE(node(it, id).is_memory_only()) << id;
             EXPECT_EQ(node(it, id).subtype, "GPUMemory");
           }
           EXPECT_FALSE(node(it, 0).is_memory_only());
           EXPECT_FALSE(node(it, 8).is_memory_only());
         }},
    Fact{kGpuMemory, 2, "distances 10/40/80",
         [](const FactCase& it) {
           std::set<int> values;
           for (const NumaDistance& distance : it.machine().numa_distances) values.insert(distance.value);
           EXPECT_EQ(values, (std::set<int>{10, 40, 80}));
         }},
    Fact{kGpuMemory, 3, "no GPU osdevs",
         [](const FactCase& it) {
           // the file itself writes the vendor as 0000, which is unknown
           const auto count = std::ranges::count_if(it.machine().pci, [](const PciDevice& device) {
             return !device.is_bridge && device.class_code && (*device.class_code >> 8) == 0x0300;
           });
           EXPECT_EQ(count, 6);
           for (const Placement& place : it.made.rings.placements) {
             EXPECT_TRUE(place.memory_node == 0 || place.memory_node == 8) << place.memory_node;
           }
           EXPECT_FALSE(it.made.rings.placements.empty());
           EXPECT_FALSE(has_problem(it, "gpu_memory_node_in_policy"));
         }},
    Fact{kFormat1, 1, "hwloc 1 format",
         [](const FactCase& it) {
           EXPECT_TRUE(it.made.unread.empty());
           EXPECT_EQ(it.readings.size(), 1U);
           EXPECT_EQ(it.machine().packages.size(), 2U);
         }},
    Fact{kFormat1, 2, "160 PU", [](const FactCase& it) { EXPECT_EQ(cpu_count(it), 160U); }},
    Fact{kFormat1, 3, "GPUs only as card",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 4U);
           for (const Gpu& one : it.machine().gpus) EXPECT_EQ(one.vendor, GpuVendor::nvidia);
         }},
    Fact{kFormat1, 4, "link speeds 0", [](const FactCase& it) { expect_unknown_speeds(it); }},
    Fact{kFormat1, 5, "mlx5_0 NUMA 0",
         [](const FactCase& it) {
           EXPECT_EQ(nic(it, "mlx5_0").numa_node, 0);
           EXPECT_EQ(nic(it, "mlx5_1").numa_node, 1);
         }},
    Fact{kG4dn, 1, "96 PU",
         [](const FactCase& it) {
           EXPECT_EQ(cpu_count(it), 96U);
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 0, 0, 0, 1, 1, 1, 1}));
         }},
    Fact{kG4dn, 2, "one RDMA device",
         [](const FactCase& it) {
           EXPECT_EQ(std::ranges::count_if(it.machine().nics, &Nic::is_rdma), 1);
           EXPECT_EQ(nic(it, "rdmap197s0").numa_node, 1);
           for (int i = 0; i < 4; ++i) EXPECT_EQ(gpu_to_nic(it, i, "rdmap197s0"), PathClass::sys) << i;
           for (int i = 4; i < 8; ++i) EXPECT_LT(gpu_to_nic(it, i, "rdmap197s0"), PathClass::sys) << i;
         }},
    Fact{kG4dn, 3, "no NVLink", [](const FactCase& it) { EXPECT_TRUE(it.machine().links.empty()); }},
    Fact{kG4dn, 4, "contiguous order",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it).at("SYS"), 2);
           EXPECT_EQ(numa_crossings(it), 2);
         }},
    Fact{kSandyBridge, 1, "cuda0 at 84:00.0",
         [](const FactCase& it) {
           EXPECT_EQ(function_of(it, bus_id("84:00.0")).numa_node, 1);
           EXPECT_EQ(nic(it, "mlx5_0").bus, bus_id("04:00.0"));
           EXPECT_EQ(nic(it, "mlx5_0").numa_node, 1);
           EXPECT_TRUE(std::ranges::any_of(it.machine().gpus, [](const Gpu& one) {
             return one.bus == bus_id("84:00.0") && one.numa_node == 1;
           }));
         }},
    Fact{kSandyBridge, 2, "opencl0d1",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 2U);
           EXPECT_EQ(std::ranges::count(it.machine().gpus, GpuVendor::nvidia, &Gpu::vendor), 1);
         }},
    Fact{kSandyBridge, 3, "link speeds 0", [](const FactCase& it) { expect_unknown_speeds(it); }},
    Fact{kWestmere, 1, "no GPU", [](const FactCase& it) { EXPECT_TRUE(it.machine().gpus.empty()); }},
    Fact{kWestmere, 2, "mlx4_0 on NUMA 0",
         [](const FactCase& it) {
           const Nic& one = nic(it, "mlx4_0");
           EXPECT_EQ(one.numa_node, 0);
           ASSERT_TRUE(one.bus);
           EXPECT_NEAR(function_of(it, *one.bus).link.gb_per_s().value_or(0), 2.0, 0.01);
         }},
    Fact{kWestmere, 3, "host ring only",
         [](const FactCase& it) {
           EXPECT_EQ(with_cpus(it), 2U);
           const auto placements = spread_ranks(it.machine().cores, 4);
           std::vector<RankPlace> places;
           for (const Placement& placement : placements)
             places.push_back(
                 {.host = 1, .package = placement.memory_node, .memory_node = placement.memory_node});
           const auto ring = ring_over(places);
           ASSERT_TRUE(ring.is_ok() && ring->size() == 4);
           int crossings = 0;
           for (std::size_t i = 0; i < 4; ++i) {
             const auto node = [&](std::size_t at) {
               return places[static_cast<std::size_t>(ring.value().at(at % 4))].memory_node;
             };
             if (node(i) != node(i + 1)) ++crossings;
           }
           EXPECT_EQ(crossings, 2);
         }},
    Fact{kWestmere, 4, "NIC class 0c06",
         [](const FactCase& it) {
           ASSERT_TRUE(nic(it, "mlx4_0").bus);
           EXPECT_EQ(function_of(it, *nic(it, "mlx4_0").bus).class_code.value_or(0) >> 8, 0x0c06U);
         }},
};

}  // namespace

std::span<const Fact> hwloc_facts() { return kFacts; }

}  // namespace ringcomm::topology_facts
