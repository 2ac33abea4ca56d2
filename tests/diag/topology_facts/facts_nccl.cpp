// SPDX-License-Identifier: Apache-2.0
// NCCL topology and graph XML.
#include <algorithm>
#include <array>
#include <set>

#include "diag/topology_facts/facts.hpp"

namespace ringcomm::topology_facts {
namespace {

using Levels = std::map<std::string, int>;
using Ints = std::vector<int>;

constexpr std::string_view kP4d = "nccl-topo-xml/aws-p4d-8xa100-4efa.xml";
constexpr std::string_view kP5 = "nccl-topo-xml/aws-p5-32efa-no-gpu.xml";
constexpr std::string_view kNdv4 = "nccl-topo-xml/azure-ndv4-8xa100-8ib.xml";
constexpr std::string_view kNdv5 = "nccl-topo-xml/azure-ndv5-8xh100-8ib.xml";
constexpr std::string_view kSelfLink = "nccl-topo-xml/azure-ncv4-4xa100pcie-selflink.xml";
constexpr std::string_view kNc48 = "nccl-topo-xml/azure-nc48v4-2xa100pcie.xml";
constexpr std::string_view kOciH100 = "nccl-topo-xml/oci-h100-8gpu-16port.xml";
constexpr std::string_view kOciB4 = "nccl-topo-xml/oci-b4-8xa100-short-mask.xml";
constexpr std::string_view kRccl = "nccl-topo-xml/rccl-v2-8xmi50-2hives-1ib.xml";
constexpr std::string_view kSlingshot = "nccl-topo-xml/slingshot-4xa100-4nic.xml";
constexpr std::string_view kContainer = "nccl-topo-xml/container-8xh200-no-rdma-nic.xml";
constexpr std::string_view kIbm = "nccl-topo-xml/ibm-vsi-8xh100-8nic-gen1-bridge.xml";
constexpr std::string_view kGb300 = "nccl-topo-xml/gb300-2tray-8gpu.xml";
constexpr std::string_view kNcGraph = "nccl-graph-xml/azure-ncv4-4xa100pcie.xml";
constexpr std::string_view kSlingshotGraph = "nccl-graph-xml/slingshot-4xa100.xml";

/// Bridge -> GPUs and NICs directly below.
struct Below {
  Ints gpus{};
  Ints nics{};
};
std::map<int, Below> below_bridges(const FactCase& it) {
  std::map<int, Below> below;
  const Machine& machine = it.machine();
  const auto parent = [&](const std::optional<int>& pci) {
    return pci ? machine.pci[static_cast<std::size_t>(*pci)].parent.value_or(-1) : -1;
  };
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    below[parent(machine.gpus[i].pci)].gpus.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (machine.nics[i].is_rdma) below[parent(machine.nics[i].pci)].nics.push_back(static_cast<int>(i));
  }
  return below;
}

std::set<int> nodes(const FactCase& it) {
  const auto ids = numa_ids(it);
  return {ids.begin(), ids.end()};
}

/// The NIC for each GPU, by NCCL's order of NICs in the file.
int nic_position_for(const FactCase& it, int index) {
  const std::string name = nic_for(it, index);
  for (std::size_t i = 0; i < it.machine().nics.size(); ++i) {
    if (it.machine().nics[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

void expect_gpu_node(const FactCase& it, const char* domain, int numa) {
  const PciBusId bus = bus_id(std::string(domain) + ":00:00.0");
  const auto found = std::ranges::find_if(it.machine().gpus, [&](const Gpu& one) { return one.bus == bus; });
  ASSERT_NE(found, it.machine().gpus.end()) << domain;
  EXPECT_EQ(found->numa_node, numa) << domain;
}

/// Links of a GPU by count, largest first, and that they end in switches.
Ints switch_counts(const FactCase& it, int position) {
  Ints counts;
  for (const Link& link : it.machine().links) {
    if (link.gpu != position || link.kind != LinkKind::nvlink) continue;
    EXPECT_EQ(link.end, LinkEnd::nvswitch);
    counts.push_back(link.count.value_or(-1));
  }
  std::ranges::sort(counts, std::greater<>());
  return counts;
}

void expect_18_links_to_4_switches(const FactCase& it) {
  ASSERT_EQ(it.machine().gpus.size(), 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(switch_counts(it, i), (Ints{5, 5, 4, 4})) << i;
  expect_all_pairs(it, PathClass::nvl, 18);
}

std::vector<Ints> ring_orders(const FactCase& it) {
  std::vector<Ints> orders;
  for (const ConfiguredGraph& graph : it.made.evidence.job.graphs) {
    if (graph.pattern != 4) continue;
    for (const ConfiguredRing& ring : graph.rings) orders.push_back(ring.order);
  }
  return orders;
}

const ConfiguredGraph& graph_of(const FactCase& it, int pattern) {
  static const ConfiguredGraph kNone;
  for (const ConfiguredGraph& graph : it.made.evidence.job.graphs) {
    if (graph.pattern == pattern) return graph;
  }
  ADD_FAILURE() << "no graph of pattern " << pattern;
  return kNone;
}

void expect_static(const FactCase& it) {
  // a vendor's file: no run has filled in ranks or hosts
  for (const Gpu& one : it.machine().gpus) EXPECT_FALSE(one.rank);
  for (const Host& host : it.machine().hosts) EXPECT_TRUE(host.name.empty());
}

constexpr std::array kFacts{
    Fact{kP4d, 1, "static", expect_static},
    Fact{kP4d, 2, "2 NUMA, 4 switches",
         [](const FactCase& it) {
           EXPECT_EQ(nodes(it), (std::set<int>{0, 1}));
           const auto below = below_bridges(it);
           EXPECT_EQ(below.size(), 4U);
           for (const auto& [bridge, devices] : below) {
             EXPECT_EQ(devices.gpus.size(), 2U);
             EXPECT_EQ(devices.nics.size(), 1U);
           }
         }},
    Fact{kP4d, 3, "GPU2k, GPU2k+1",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) EXPECT_EQ(nic_position_for(it, i), i / 2) << i;
         }},
    Fact{kP4d, 4, "all links 8 GT/s",
         [](const FactCase& it) {
           for (const PciDevice& device : it.machine().pci) {
             EXPECT_EQ(device.link.gt_per_s, 8.0) << device.id.to_text();
             EXPECT_EQ(device.link.width, 16) << device.id.to_text();
           }
         }},
    Fact{kP4d, 5, "no `gpu` elements",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().gpus.size(), 8U);
           for (const Gpu& one : it.machine().gpus)
             EXPECT_EQ(function_of(it, *one.bus).class_code, 0x030200U);
           expect_healthy(it);
         }},
    Fact{kP5, 1, "2 NUMA, 8 switches",
         [](const FactCase& it) {
           EXPECT_EQ(nodes(it), (std::set<int>{0, 1}));
           std::map<int, int> leaves;
           for (const PciDevice& device : it.machine().pci) {
             if (device.parent) ++leaves[*device.parent];
           }
           EXPECT_EQ(leaves.size(), 8U);
           for (const auto& [bridge, count] : leaves) EXPECT_EQ(count, 4);
         }},
    Fact{kP5, 2, "no GPU, no affinity",
         [](const FactCase& it) {
           EXPECT_TRUE(it.machine().gpus.empty());
           EXPECT_TRUE(has_problem(it, "topology_file_no_gpu"));
           EXPECT_TRUE(finding(it, "topology_file_affinity_short", CheckState::unknown));
         }},
    Fact{kP5, 3, "speed string",
         [](const FactCase& it) {
           const auto problem = finding(it, "topology_file_unknown_speed");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->evidence.size(), 32U);
           EXPECT_NE(problem->evidence[0].read.find("32 GT/s PCIe/s"), std::string::npos);
         }},
    Fact{kP5, 4, "report both",
         [](const FactCase& it) {
           const PciDevice& one = function_of(it, bus_id("0000:4f:00.0"));
           EXPECT_EQ(one.link.gt_per_s, 32.0);
           EXPECT_EQ(one.link.speed_text, "32 GT/s PCIe/s");
           EXPECT_NE(finding(it, "topology_file_unknown_speed")->title.find("Gen3"), std::string::npos);
         }},
    Fact{kNdv4, 1, "static", expect_static},
    Fact{kNdv4, 2, "4 NUMA, per NUMA 1 switch",
         [](const FactCase& it) {
           EXPECT_EQ(nodes(it), (std::set<int>{0, 1, 2, 3}));
           const auto below = below_bridges(it);
           EXPECT_EQ(below.size(), 4U);
           for (const auto& [bridge, devices] : below) {
             EXPECT_EQ(devices.gpus.size(), 2U);
             EXPECT_EQ(devices.nics.size(), 2U);
           }
           expect_healthy(it);
         }},
    Fact{kNdv4, 3, "**GPU order is not NUMA order**",
         [](const FactCase& it) {
           expect_gpu_node(it, "0001", 1);
           expect_gpu_node(it, "0002", 1);
         }},
    Fact{kNdv4, 4, "0003,0004",
         [](const FactCase& it) {
           expect_gpu_node(it, "0003", 0);
           expect_gpu_node(it, "0004", 0);
         }},
    Fact{kNdv4, 5, "000b,000c",
         [](const FactCase& it) {
           expect_gpu_node(it, "000b", 3);
           expect_gpu_node(it, "000c", 3);
         }},
    Fact{kNdv4, 6, "000d,000e",
         [](const FactCase& it) {
           expect_gpu_node(it, "000d", 2);
           expect_gpu_node(it, "000e", 2);
         }},
    Fact{kNdv4, 7, "IB 0101-0108",
         [](const FactCase& it) {
           const std::array<std::pair<const char*, const char*>, 8> pairs{{{"0001", "0101"},
                                                                           {"0002", "0102"},
                                                                           {"0003", "0103"},
                                                                           {"0004", "0104"},
                                                                           {"000b", "0105"},
                                                                           {"000c", "0106"},
                                                                           {"000d", "0107"},
                                                                           {"000e", "0108"}}};
           for (const auto& [gpu_domain, nic_domain] : pairs) {
             const auto* bridge = bridge_above(it, bus_id(std::string(gpu_domain) + ":00:00.0"));
             ASSERT_NE(bridge, nullptr);
             EXPECT_EQ(bridge, bridge_above(it, bus_id(std::string(nic_domain) + ":00:00.0"))) << gpu_domain;
           }
         }},
    Fact{kNdv5, 1, "static", expect_static},
    Fact{kNdv5, 2, "2 NUMA (48 CPUs each)",
         [](const FactCase& it) {
           EXPECT_EQ(node(it, 0).cpus->size(), 48U);
           EXPECT_EQ(node(it, 1).cpus->size(), 48U);
           const auto below = below_bridges(it);
           EXPECT_EQ(below.size(), 8U);
           for (const auto& [bridge, devices] : below) {
             EXPECT_EQ(devices.gpus.size(), 1U);
             EXPECT_EQ(devices.nics.size(), 1U);
           }
           for (const PciDevice& device : it.machine().pci) {
             EXPECT_EQ(device.link.gt_per_s, 32.0);
             EXPECT_EQ(device.link.width, 16);
           }
           expect_healthy(it);
         }},
    Fact{kNdv5, 3, "GPU k with NIC k",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) EXPECT_EQ(nic_position_for(it, i), i) << i;
         }},
    Fact{kNdv5, 4, "GPU buses",
         [](const FactCase& it) {
           for (const char* domain : {"0001", "0002", "0003", "0008"}) expect_gpu_node(it, domain, 0);
           for (const char* domain : {"0009", "000a", "000b", "000c"}) expect_gpu_node(it, domain, 1);
         }},
    Fact{kSelfLink, 1, "**trouble:** every `nvlink`",
         [](const FactCase& it) {
           const auto problem = finding(it, "topology_file_self_link");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->devices.size(), 4U);
           for (int i = 1; i < 4; ++i) EXPECT_GT(between_gpus(it, 0, i), PathClass::c2c) << i;
         }},
    Fact{kSelfLink, 2, "1 GPU per NUMA node",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 1, 2, 3}));
         }},
    Fact{kSelfLink, 3, "`link_width=\"0\"`",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) {
             EXPECT_FALSE(function_of(it, *one.bus).link.width);
             EXPECT_FALSE(function_of(it, *one.bus).link.gt_per_s);
           }
         }},
    Fact{kSelfLink, 4, "only eth0",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 1U);
           EXPECT_EQ(it.machine().nics[0].name, "eth0");
           EXPECT_FALSE(it.machine().nics[0].is_rdma);
           EXPECT_EQ(it.machine().nics[0].ports.at(0).gpu_direct, false);
         }},
    Fact{kNc48, 1, "pair (0,1) 12 NVLinks",
         [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 12); }},
    Fact{kNc48, 2, "ring `[0 1]`",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"NV12", 2}}));
         }},
    Fact{kNc48, 3, "GPU 0 NUMA 0",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 1}));
         }},
    Fact{kNc48, 4, "link_width 0",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) EXPECT_FALSE(function_of(it, *one.bus).link.width);
           expect_healthy(it);
         }},
    Fact{kOciH100, 1, "8 GPUs, 8 two-port NICs",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 8U);
           EXPECT_EQ(it.machine().nics.size(), 8U);
           for (const Nic& one : it.machine().nics) {
             EXPECT_EQ(one.ports.size(), 2U);
             for (const Port& port : one.ports) EXPECT_EQ(port.gbit_per_s, 180.0);
           }
         }},
    Fact{kOciH100, 2, "both ports of a NIC",
         [](const FactCase& it) {
           std::set<std::string> guids;
           for (const Nic& one : it.machine().nics) guids.insert(one.guid);
           EXPECT_EQ(guids.size(), 8U);
           EXPECT_FALSE(guids.contains(""));
         }},
    Fact{kOciH100, 3, "18 NVLinks", expect_18_links_to_4_switches},
    Fact{kOciH100, 4, "GPU k shares a switch",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) EXPECT_EQ(nic_position_for(it, i), i) << i;
         }},
    Fact{kOciH100, 5, "**trouble:** upstream switch",
         [](const FactCase& it) {
           const auto problem = finding(it, "pcie_bridge_slow");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->severity, Severity::warning);
           EXPECT_NE(problem->evidence[0].read.find("5 GT/s x16"), std::string::npos)
               << problem->evidence[0].read;
           EXPECT_NE(problem->evidence[0].wanted.find("32 GT/s"), std::string::npos)
               << problem->evidence[0].wanted;
           const auto* bridge = bridge_above(it, bus_id("0000:0d:00.0"));
           ASSERT_NE(bridge, nullptr);
           EXPECT_NEAR(CostModel::table().pcie_gb_per_s(bridge->link).value_or(0), 6, 0.5);
         }},
    Fact{kOciB4, 1, "NUMA ids 3,1,7,5",
         [](const FactCase& it) {
           EXPECT_EQ(nodes(it), (std::set<int>{1, 3, 5, 7}));
         }},
    Fact{kOciB4, 2, "per NUMA 2 GPUs",
         [](const FactCase& it) {
           std::map<int, int> gpus;
           std::map<int, int> nics;
           for (const Gpu& one : it.machine().gpus) ++gpus[one.numa_node.value_or(-1)];
           for (const Nic& one : it.machine().nics) ++nics[one.numa_node.value_or(-1)];
           const std::map<int, int> wanted{{1, 2}, {3, 2}, {5, 2}, {7, 2}};
           EXPECT_EQ(gpus, wanted);
           EXPECT_EQ(nics, wanted);
         }},
    Fact{kOciB4, 3, "**trouble:** affinity",
         [](const FactCase& it) {
           const auto problem = finding(it, "topology_file_affinity_short");
           ASSERT_TRUE(problem);
           ASSERT_EQ(problem->evidence.size(), 1U);
           EXPECT_EQ(problem->evidence[0].read, "NUMA7: 28 CPUs");
           EXPECT_EQ(problem->evidence[0].wanted, "32, as the other nodes");
         }},
    Fact{kRccl, 1, "`system version=\"2\"`",
         [](const FactCase& it) {
           EXPECT_TRUE(it.made.unread.empty());
           EXPECT_TRUE(std::ranges::any_of(it.machine().links,
                                           [](const Link& link) { return link.kind == LinkKind::xgmi; }));
         }},
    Fact{kRccl, 2, "two hives",
         [](const FactCase& it) {
           for (const Ints& ring : {Ints{0, 1, 3, 2}, Ints{4, 5, 7, 6}}) {
             for (std::size_t i = 0; i < 4; ++i)
               EXPECT_EQ(between_gpus(it, ring[i], ring[(i + 1) % 4]), PathClass::nvl);
           }
           int direct = 0;
           for (const Link& link : it.machine().links) direct += link.kind == LinkKind::xgmi ? 1 : 0;
           EXPECT_EQ(direct, 16);
         }},
    Fact{kRccl, 3, "NIC next to hive 0",
         [](const FactCase& it) {
           const auto rdma = std::ranges::find_if(it.machine().nics, &Nic::is_rdma);
           ASSERT_NE(rdma, it.machine().nics.end());
           PathClass near = PathClass::unknown;
           PathClass far = PathClass::unknown;
           for (int i = 0; i < 8; ++i) {
             PathClass& best = i < 4 ? near : far;
             best = std::min(best, gpu_to_nic(it, i, rdma->name));
           }
           EXPECT_LT(near, far);
         }},
    Fact{kRccl, 4, "best ring e.g.",
         [](const FactCase& it) {
           const auto levels = best_levels(it);
           EXPECT_EQ(levels, levels_of(it, {0, 1, 3, 2, 6, 7, 5, 4}));
           EXPECT_EQ(levels.at("PHB"), 2);
         }},
    Fact{kSlingshot, 1, "4 NUMA",
         [](const FactCase& it) {
           EXPECT_EQ(nodes(it), (std::set<int>{0, 1, 2, 3}));
         }},
    Fact{kSlingshot, 2, "NV4 between all pairs",
         [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 4); }},
    Fact{kSlingshot, 3, "GPU0..3 on NUMA 3,2,1,0",
         [](const FactCase& it) {
           for (int i = 0; i < 4; ++i) {
             EXPECT_EQ(gpu(it, i).numa_node, 3 - i);
             EXPECT_EQ(nic_for(it, i), "cxi" + std::to_string(3 - i));
           }
           expect_healthy(it);
         }},
    Fact{kSlingshot, 4, "NIC 200000 Mb/s",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 4U);
           for (const Nic& one : it.machine().nics) EXPECT_EQ(one.ports.at(0).gbit_per_s, 200.0);
         }},
    Fact{kSlingshot, 5, "GPU and NIC meet",
         [](const FactCase& it) {
           for (int i = 0; i < 4; ++i)
             EXPECT_EQ(gpu_to_nic(it, i, "cxi" + std::to_string(3 - i)), PathClass::phb);
         }},
    Fact{kSlingshot, 6, "3 rings tie",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"NV4", 4}}));
           EXPECT_EQ(best_ring_count(it), 3U);
         }},
    Fact{kContainer, 1, "8 GPUs, 18 NVLinks", expect_18_links_to_4_switches},
    Fact{kContainer, 2, "only eth0",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 1U);
           EXPECT_EQ(it.machine().nics[0].ports.at(0).gbit_per_s, 10.0);
           EXPECT_EQ(it.machine().nics[0].ports.at(0).gpu_direct, false);
         }},
    Fact{kContainer, 3, "**trouble:** the host has",
         [](const FactCase& it) {
           EXPECT_TRUE(has_problem(it, "no_rdma_nic"));
           std::vector<UnreadFile> unread;
           const std::vector<std::filesystem::path> both{data_root() / it.file,
                                                         data_root() / "nvidia-smi-topo/hgx-8xh200-8nic.txt"};
           const auto merged = make_topology_case(merge_evidence(read_evidence_paths(both, unread)),
                                                  CostModel::table(), unread);
           EXPECT_EQ(std::ranges::count_if(merged.evidence.machine.nics, &Nic::is_rdma), 8);
           EXPECT_FALSE(merged.evidence.contradictions.empty());
         }},
    Fact{kIbm, 1, "GPU i shares a bridge",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) {
             const std::string name = "mlx5_" + std::to_string(7 - i);
             ASSERT_TRUE(nic(it, name).bus);
             EXPECT_EQ(bridge_above(it, *gpu(it, i).bus), bridge_above(it, *nic(it, name).bus)) << i;
             EXPECT_EQ(nic(it, name).ports.at(0).gbit_per_s, 200.0);
             EXPECT_EQ(nic_for(it, i), name);
           }
         }},
    Fact{kIbm, 2, "**trouble:** virtual bridge",
         [](const FactCase& it) {
           const auto problem = finding(it, "pcie_bridge_slow");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->severity, Severity::warning);
           EXPECT_NE(problem->evidence[0].read.find("2.5 GT/s x1"), std::string::npos);
           const auto* bridge = bridge_above(it, *gpu(it, 0).bus);
           ASSERT_NE(bridge, nullptr);
           EXPECT_EQ(bridge->vendor, 0x104c);
           EXPECT_EQ(bridge->device, 0x8232);
           EXPECT_NEAR(CostModel::table().pcie_gb_per_s(bridge->link).value_or(0), 0.19, 0.01);
         }},
    Fact{kIbm, 3, "endpoints have width 0",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) EXPECT_FALSE(function_of(it, *one.bus).link.width);
           for (const Nic& one : it.machine().nics) EXPECT_FALSE(function_of(it, *one.bus).link.width);
         }},
    Fact{kIbm, 4, "endpoint truth is Gen5",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) EXPECT_EQ(function_of(it, *one.bus).link.gt_per_s, 32.0);
         }},
    Fact{kGb300, 1, "2 `host_hash`, 4 CPUs",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().hosts.size(), 2U);
           EXPECT_EQ(it.machine().numa_nodes.size(), 4U);
           ASSERT_EQ(it.machine().gpus.size(), 8U);
           std::set<int> ranks;
           for (std::size_t i = 0; i < 8; ++i) {
             EXPECT_LT(it.machine().gpus[i].index, 4);
             ranks.insert(it.machine().gpus[i].rank.value_or(-1));
             EXPECT_EQ(switch_counts(it, static_cast<int>(i)), (Ints{18}));
           }
           EXPECT_EQ(ranks, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
           for (const Link& link : it.machine().links) {
             EXPECT_TRUE(link.kind == LinkKind::c2c || (link.target && link.target->is_hidden_switch()));
           }
         }},
    Fact{kGb300, 2, "c2c 44712 MB/s",
         [](const FactCase& it) {
           int count = 0;
           for (const Link& link : it.machine().links) {
             if (link.kind != LinkKind::c2c) continue;
             ++count;
             EXPECT_NEAR(link.gb_per_s_each.value_or(0) * link.count.value_or(0), 223.56, 0.1);
           }
           EXPECT_EQ(count, 8);
         }},
    Fact{kGb300, 3, "one mlx5_bond_0",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 2U);
           for (int host = 0; host < 2; ++host) {
             const Nic& one = it.machine().nics[static_cast<std::size_t>(host)];
             EXPECT_EQ(one.name, "mlx5_bond_0");
             EXPECT_EQ(one.host, host);
             EXPECT_EQ(one.ports.at(0).gbit_per_s, 100.0);
           }
         }},
    Fact{kGb300, 4, "bridge above each GPU",
         [](const FactCase& it) {
           expect_healthy(it);
           const auto note = finding(it, "pcie_bridge_slow");
           ASSERT_TRUE(note);
           EXPECT_EQ(note->severity, Severity::info);
           EXPECT_EQ(note->devices.size(), 8U);
           EXPECT_NE(note->evidence[0].read.find("16 GT/s x1"), std::string::npos) << note->evidence[0].read;
         }},
    Fact{kGb300, 5, "any order is best",
         [](const FactCase& it) {
           ASSERT_TRUE(it.made.rings_status.is_ok());
           const auto& order = it.made.rings.best.order;
           ASSERT_EQ(order.size(), 8U);
           std::set<int> levels;
           int crossings = 0;
           for (std::size_t i = 0; i < order.size(); ++i) {
             const int next = order[(i + 1) % order.size()];
             levels.insert(it.made.rings.graph.graph.at(order[i], next).level);
             const auto host = [&](int vertex) {
               const auto position = static_cast<std::size_t>(
                   it.made.rings.graph.devices[static_cast<std::size_t>(vertex)].position);
               return it.machine().gpus[position].host;
             };
             crossings += host(order[i]) != host(next) ? 1 : 0;
           }
           EXPECT_EQ(levels.size(), 1U);
           EXPECT_EQ(crossings, 2);
         }},
    Fact{kNcGraph, 1, "ring graph (pattern 4)",
         [](const FactCase& it) {
           EXPECT_EQ(ring_orders(it), (std::vector<Ints>{{0, 1, 2, 3}, {0, 3, 2, 1}}));
           EXPECT_TRUE(is_same_ring({0, 1, 2, 3}, {0, 3, 2, 1}));
           EXPECT_EQ(graph_of(it, 4).intra_gb_per_s, 12.0);
           EXPECT_EQ(graph_of(it, 4).intra_class, PathClass::sys);
         }},
    Fact{kNcGraph, 2, "trees (patterns 1 and 3)",
         [](const FactCase& it) {
           EXPECT_EQ(graph_of(it, 1).channels, 4);
           EXPECT_EQ(graph_of(it, 3).channels, 4);
         }},
    Fact{kSlingshotGraph, 1, "12 ring channels",
         [](const FactCase& it) {
           EXPECT_EQ(graph_of(it, 4).channels, 12);
           EXPECT_EQ(graph_of(it, 4).intra_gb_per_s, 20.0);
           EXPECT_EQ(graph_of(it, 4).intra_class, PathClass::nvl);
           std::map<Ints, int> times;
           for (Ints order : ring_orders(it)) {
             std::rotate(order.begin(), std::ranges::find(order, 0), order.end());
             ++times[order];
           }
           EXPECT_EQ(times.size(), 6U);
           for (const auto& [order, count] : times) EXPECT_EQ(count, 2);
         }},
    Fact{kSlingshotGraph, 2, "12 x 4 arcs",
         [](const FactCase& it) {
           std::map<std::pair<int, int>, int> arcs;
           for (const Ints& order : ring_orders(it)) {
             for (std::size_t i = 0; i < order.size(); ++i) ++arcs[{order[i], order[(i + 1) % order.size()]}];
           }
           EXPECT_EQ(arcs.size(), 12U);
           for (const auto& [arc, count] : arcs) EXPECT_EQ(count, 4);  // NV4: every directed link once
         }},
    Fact{kSlingshotGraph, 3, "dev values are hex",
         [](const FactCase& it) {
           std::set<int> devices;
           for (const Ints& order : ring_orders(it)) devices.insert(order.begin(), order.end());
           EXPECT_EQ(devices, (std::set<int>{0, 1, 2, 3}));
         }},
};

}  // namespace

std::span<const Fact> nccl_facts() { return kFacts; }

}  // namespace ringcomm::topology_facts
