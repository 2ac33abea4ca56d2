// SPDX-License-Identifier: Apache-2.0
// nvidia-smi topo -m.
#include <algorithm>
#include <array>
#include <set>

#include "diag/topology_facts/facts.hpp"

namespace ringcomm::topology_facts {
namespace {

using Levels = std::map<std::string, int>;
using Ints = std::vector<int>;

constexpr std::string_view kDgx1 = "nvidia-smi-topo/dgx1-8xv100-4ib.txt";
constexpr std::string_view kHgx = "nvidia-smi-topo/hgx-8xh200-8nic.txt";
constexpr std::string_view kSlingshot = "nvidia-smi-topo/slingshot-4xa100-nv4.txt";
constexpr std::string_view k4090 = "nvidia-smi-topo/8x4090-all-sys-no-legend.txt";
constexpr std::string_view kNv6 = "nvidia-smi-topo/4xh100-nv6-8numa-4nic.txt";
constexpr std::string_view kL40s = "nvidia-smi-topo/8xl40s-2s-vm-nic-sys.txt";
constexpr std::string_view k3090 = "nvidia-smi-topo/2x3090-sys-numa-na.txt";
constexpr std::string_view kNv3 = "nvidia-smi-topo/2gpu-nv3-bridge-partly-seated.txt";
constexpr std::string_view kP3 = "nvidia-smi-topo/p3-8xlarge-4xv100.txt";
constexpr std::string_view kThree = "nvidia-smi-topo/3gpu-one-nv4-pair-2nic.txt";
constexpr std::string_view kContainer = "nvidia-smi-topo/container-2xa100-8nic-no-affinity.txt";
constexpr std::string_view kB200 = "nvidia-smi-topo/8xb200-gpu2-off-nvlink-cut-paste.txt";
constexpr std::string_view kGb200 = "nvidia-smi-topo/gb200-4gpu-6nic-cut-paste.txt";
constexpr std::string_view kTwoSwitches = "nvidia-smi-topo/8gpu-2pcie-switch-8nic-cut-paste.txt";
constexpr std::string_view kReversed = "nvidia-smi-topo/8xh100-9nic-reversed-order.txt";

std::string numbered(std::string_view name, int number) { return std::string(name) + std::to_string(number); }

/// NICs in the file's order.
std::vector<std::string> nic_names(const FactCase& it) {
  std::vector<std::string> names;
  for (const Nic& one : it.machine().nics) names.push_back(one.name);
  return names;
}

/// The name that the legend, or the column, gives the n-th NIC.
std::string nic_at(const FactCase& it, int number) {
  const auto& nics = it.machine().nics;
  if (number < 0 || static_cast<std::size_t>(number) >= nics.size()) {
    ADD_FAILURE() << it.file << " has no NIC" << number;
    return "";
  }
  return nics[static_cast<std::size_t>(number)].name;
}

bool has_skipped(const FactCase& it) { return !it.made.evidence.skipped.empty(); }

int total_links(const FactCase& it, int index) {
  int total = 0;
  for (const Gpu& other : it.machine().gpus) {
    if (other.index != index) total += nvlinks(it, index, other.index).value_or(0);
  }
  return total;
}

/// Uses of every undirected link by the planner's rings, against the links there are.
void expect_rings_cover(const FactCase& it, const std::vector<Ints>& rings, int links) {
  std::map<std::pair<int, int>, int> uses;
  for (const Ints& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int a = ring[i];
      const int b = ring[(i + 1) % ring.size()];
      ++uses[{std::min(a, b), std::max(a, b)}];
    }
  }
  int used = 0;
  for (const auto& [pair, count] : uses) {
    EXPECT_LE(count, nvlinks(it, pair.first, pair.second).value_or(0)) << pair.first << "-" << pair.second;
    used += count;
  }
  EXPECT_EQ(used, links);
}

std::vector<Ints> planned_rings(const FactCase& it) {
  std::vector<Ints> rings;
  for (const RingOrder& ring : it.made.rings.rings.rings) {
    Ints order;
    for (const int vertex : ring.order) {
      const auto position =
          static_cast<std::size_t>(it.made.rings.graph.devices[static_cast<std::size_t>(vertex)].position);
      order.push_back(it.machine().gpus[position].index);
    }
    rings.push_back(order);
  }
  return rings;
}

void expect_contiguous_halves(const FactCase& it) {
  const Ints order = best_order(it);
  ASSERT_EQ(order.size(), 8U);
  int crossings = 0;
  for (std::size_t i = 0; i < 8; ++i) crossings += order[i] / 4 != order[(i + 1) % 8] / 4 ? 1 : 0;
  EXPECT_EQ(crossings, 2);
}

constexpr std::array kFacts{
    Fact{kDgx1, 1, "8 V100 cube mesh",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().gpus.size(), 8U);
           for (int i = 0; i < 8; ++i) EXPECT_EQ(total_links(it, i), 6) << i;
           EXPECT_EQ(nic_names(it), (std::vector<std::string>{"mlx5_0", "mlx5_2", "mlx5_1", "mlx5_3"}));
           expect_healthy(it);
         }},
    Fact{kDgx1, 2, "no NUMA column",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) EXPECT_FALSE(one.numa_node);
         }},
    Fact{kDgx1, 3, "`[0 3 2 1 5 6 7 4]` is the one best",
         [](const FactCase& it) {
           EXPECT_TRUE(is_same_ring(best_order(it), {0, 3, 2, 1, 5, 6, 7, 4}));
           EXPECT_EQ(best_levels(it), (Levels{{"NV2", 8}}));
           EXPECT_EQ(best_ring_count(it), 1U);
         }},
    Fact{kDgx1, 4, "`[0 1 2 3 4 5 6 7]` has 2 SYS",
         [](const FactCase& it) {
           EXPECT_EQ(levels_of(it, {0, 1, 2, 3, 4, 5, 6, 7}).at("SYS"), 2);
           EXPECT_EQ(between_gpus(it, 3, 4), PathClass::sys);
           EXPECT_EQ(between_gpus(it, 7, 0), PathClass::sys);
         }},
    Fact{kDgx1, 5, "30 NVLink-only",
         [](const FactCase& it) {
           const auto& graph = it.made.rings.graph;
           int worst_nvlink = -1;
           for (std::size_t i = 0; i < graph.level_names.size(); ++i) {
             if (graph.level_names[i].starts_with("NV") && graph.level_names[i] != "NVB")
               worst_nvlink = static_cast<int>(i);
           }
           EXPECT_EQ(rings_within(graph.graph, worst_nvlink).size(), 30U);
         }},
    Fact{kDgx1, 6, "all 24 links",
         [](const FactCase& it) {
           expect_rings_cover(
               it, {{0, 1, 2, 3, 7, 5, 6, 4}, {0, 2, 6, 7, 4, 5, 1, 3}, {0, 3, 2, 1, 5, 6, 7, 4}}, 24);
           const auto rings = planned_rings(it);
           EXPECT_EQ(rings.size(), 3U);
           expect_rings_cover(it, rings, 24);
           EXPECT_EQ(it.made.rings.rings.links_used, 48);
         }},
    Fact{kDgx1, 7, "NIC pairs",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) {
             EXPECT_EQ(nic_for(it, i), numbered("mlx5_", i / 2));
             EXPECT_EQ(gpu_to_nic(it, i, numbered("mlx5_", i / 2)), PathClass::pix);
           }
         }},
    Fact{kHgx, 1, "NV18 everywhere", [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 18); }},
    Fact{kHgx, 2, "GPU k PIX NIC k",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) {
             EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, i)), PathClass::pix);
             EXPECT_EQ(nic_for(it, i), nic_at(it, i));
           }
           expect_healthy(it);
         }},
    Fact{kHgx, 3, "NUMA 0: 0-3",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 0, 0, 0, 1, 1, 1, 1}));
         }},
    Fact{kHgx, 4, "192 CPUs", [](const FactCase& it) { EXPECT_EQ(cpu_count(it), 192U); }},
    Fact{kHgx, 5, "NIC rows end",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().nics.size(), 8U);
           EXPECT_FALSE(has_skipped(it));
         }},
    Fact{kSlingshot, 1, "NV4 everywhere",
         [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 4); }},
    Fact{kSlingshot, 2, "NUMA 3,2,1,0",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{3, 2, 1, 0}));
           expect_healthy(it);
         }},
    Fact{kSlingshot, 3, "no NIC columns",
         [](const FactCase& it) {
           EXPECT_TRUE(it.machine().nics.empty());
           EXPECT_FALSE(it.machine().has_nic_evidence);  // so nobody may say "no NIC"
         }},
    Fact{k4090, 1, "no GPU pair better",
         [](const FactCase& it) {
           expect_all_pairs(it, PathClass::sys);
           EXPECT_EQ(numa_of_gpus(it), (Ints{0, 0, 0, 0, 1, 1, 1, 1}));
           expect_healthy(it);
         }},
    Fact{k4090, 2, "NICs PHB to GPU6",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 2U);
           for (int i = 0; i < 8; ++i) {
             for (int n = 0; n < 2; ++n)
               EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, n)), i == 6 ? PathClass::phb : PathClass::sys);
           }
         }},
    Fact{k4090, 3, "every ring ties",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"SYS", 8}}));
           EXPECT_EQ(best_ring_count(it), 2520U);
           expect_contiguous_halves(it);
         }},
    Fact{kNv6, 1, "NV6 all pairs",
         [](const FactCase& it) {
           expect_all_pairs(it, PathClass::nvl, 6);
           EXPECT_EQ(total_links(it, 0), 18);
         }},
    Fact{kNv6, 2, "NUMA 3,1,7,5",
         [](const FactCase& it) {
           EXPECT_EQ(numa_of_gpus(it), (Ints{3, 1, 7, 5}));
         }},
    Fact{kNv6, 3, "CPU lists",
         [](const FactCase& it) {
           EXPECT_EQ(gpu(it, 0).cpus, (Ints{6, 14, 22, 30}));
         }},
    Fact{kNv6, 4, "GPU k PIX NIC k",
         [](const FactCase& it) {
           for (int i = 0; i < 4; ++i) EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, i)), PathClass::pix);
           expect_healthy(it);
         }},
    Fact{kNv6, 5, "3 rings tie", [](const FactCase& it) { EXPECT_EQ(best_ring_count(it), 3U); }},
    Fact{kL40s, 1, "NODE in a socket",
         [](const FactCase& it) {
           for (int a = 0; a < 8; ++a) {
             for (int b = a + 1; b < 8; ++b)
               EXPECT_EQ(between_gpus(it, a, b), a / 4 == b / 4 ? PathClass::node : PathClass::sys);
           }
           expect_healthy(it);
         }},
    Fact{kL40s, 2, "NIC0 SYS to all",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, 0)), PathClass::sys);
         }},
    Fact{kL40s, 3, "contiguous order",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"NODE", 6}, {"SYS", 2}}));
           expect_contiguous_halves(it);
         }},
    Fact{k3090, 1, "2 GPUs SYS",
         [](const FactCase& it) { EXPECT_EQ(between_gpus(it, 0, 1), PathClass::sys); }},
    Fact{k3090, 2, "NUMA column",
         [](const FactCase& it) {
           EXPECT_FALSE(gpu(it, 0).numa_node);
           EXPECT_EQ(gpu(it, 1).numa_node, 1);
           EXPECT_TRUE(has_problem(it, "numa_node_missing"));
         }},
    Fact{k3090, 3, "CPU 0-7,16-23",
         [](const FactCase& it) {
           EXPECT_EQ(gpu(it, 0).cpus, (Ints{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}));
           EXPECT_EQ(gpu(it, 1).cpus, (Ints{8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31}));
         }},
    Fact{kNv3, 1, "**trouble:** NV3",
         [](const FactCase& it) {
           EXPECT_EQ(nvlinks(it, 0, 1), 3);
           const auto problem = finding(it, "nvlink_inactive");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->devices.size(), 2U);
           EXPECT_EQ(problem->evidence[0].wanted.substr(0, 1), "4");
         }},
    Fact{kNv3, 2, "header row",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 2U);
           EXPECT_FALSE(has_skipped(it));
         }},
    Fact{kP3, 1, "4 V100",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 4U);
           for (int a = 0; a < 4; ++a) {
             for (int b = a + 1; b < 4; ++b) {
               EXPECT_GE(nvlinks(it, a, b).value_or(0), 1);
               EXPECT_LE(nvlinks(it, a, b).value_or(9), 2);
             }
           }
           expect_healthy(it);
         }},
    Fact{kP3, 2, "bottleneck 1 link",
         [](const FactCase& it) { EXPECT_EQ(best_levels(it).count("NV1"), 1U); }},
    Fact{kP3, 3, "`[0 1 2 3]` has 3 NV2",
         [](const FactCase& it) {
           EXPECT_EQ(levels_of(it, {0, 1, 2, 3}), (Levels{{"NV1", 1}, {"NV2", 3}}));
           EXPECT_EQ(best_levels(it), (Levels{{"NV1", 1}, {"NV2", 3}}));
         }},
    Fact{kP3, 4, "two link-disjoint",
         [](const FactCase& it) {
           const auto rings = planned_rings(it);
           ASSERT_EQ(rings.size(), 2U);
           for (const Ints& wanted : {Ints{0, 1, 2, 3}, Ints{0, 2, 1, 3}}) {
             EXPECT_TRUE(
                 std::ranges::any_of(rings, [&](const Ints& ring) { return is_same_ring(ring, wanted); }));
           }
         }},
    Fact{kP3, 5, "\"N/A\" after two tabs",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) EXPECT_FALSE(one.numa_node);
           EXPECT_EQ(gpu(it, 0).cpus.value_or(Ints()).size(), 32U);
         }},
    Fact{kThree, 1, "only ring",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"NODE", 2}, {"NV4", 1}}));
           EXPECT_EQ(best_ring_count(it), 1U);
           expect_healthy(it);
         }},
    Fact{kThree, 2, "NICs PHB to GPU2",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 2U);
           for (int n = 0; n < 2; ++n) {
             EXPECT_EQ(gpu_to_nic(it, 2, nic_at(it, n)), PathClass::phb);
             EXPECT_EQ(gpu_to_nic(it, 0, nic_at(it, n)), PathClass::node);
             EXPECT_EQ(gpu_to_nic(it, 1, nic_at(it, n)), PathClass::node);
           }
         }},
    Fact{kThree, 3, "CPU list 64-71",
         [](const FactCase& it) {
           EXPECT_EQ(gpu(it, 0).cpus, (Ints{64, 65, 66, 67, 68, 69, 70, 71}));
         }},
    Fact{kContainer, 1, "CPU and NUMA columns",
         [](const FactCase& it) {
           for (const Gpu& one : it.machine().gpus) {
             EXPECT_FALSE(one.cpus);
             EXPECT_FALSE(one.numa_node);
           }
           expect_healthy(it);
         }},
    Fact{kContainer, 2, "NV12", [](const FactCase& it) { EXPECT_EQ(nvlinks(it, 0, 1), 12); }},
    Fact{kContainer, 3, "GPUs PXB",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 8U);
           for (int n = 0; n < 8; ++n) {
             for (int i = 0; i < 2; ++i)
               EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, n)), n >= 6 ? PathClass::pxb : PathClass::sys) << n;
           }
         }},
    Fact{kB200, 1, "no header, 7 rows",
         [](const FactCase& it) {
           EXPECT_TRUE(has_skipped(it));
           EXPECT_FALSE(gpu(it, 6).cpus);
           EXPECT_TRUE(gpu(it, 5).cpus);
         }},
    Fact{kB200, 2, "**trouble:** GPU2",
         [](const FactCase& it) {
           const auto problem = finding(it, "nvlink_missing_on_gpu");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->devices, (std::vector<DeviceRef>{{.kind = PartKind::gpu, .position = 2}}));
           for (int i = 0; i < 7; ++i) {
             EXPECT_EQ(nvlinks(it, i, i == 0 ? 1 : 0).value_or(0), i == 2 ? 0 : 18) << i;
           }
         }},
    Fact{kB200, 3, "best ring puts GPU2",
         [](const FactCase& it) {
           // over the 7 rows given: GPU7 has none
           Machine seven = it.machine();
           seven.gpus.resize(7);
           std::erase_if(seven.stated_paths, [](const StatedPath& path) {
             return (path.from.kind == PartKind::gpu && path.from.position > 6) ||
                    (path.to.kind == PartKind::gpu && path.to.position > 6);
           });
           FactCase cut;
           cut.file = it.file;
           MergedEvidence evidence;
           evidence.machine = seven;
           cut.made = make_topology_case(evidence, CostModel::table());
           EXPECT_EQ(best_levels(cut), (Levels{{"NODE", 2}, {"NV18", 5}}));
           EXPECT_EQ(best_ring_count(cut), 72U);
           Ints order = best_order(cut);
           std::rotate(order.begin(), std::ranges::find(order, 2), order.end());
           for (const int neighbour : {order[1], order.back()})
             EXPECT_TRUE(neighbour == 0 || neighbour == 1 || neighbour == 3) << neighbour;
         }},
    Fact{kB200, 4, "better: leave GPU2 out",
         [](const FactCase& it) { EXPECT_EQ(it.made.rings.left_out, (Ints{2})); }},
    Fact{kGb200, 1, "NV18", [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 18); }},
    Fact{kGb200, 2, "NUMA affinity lists",
         [](const FactCase& it) {
           EXPECT_EQ(gpu(it, 0).numa_node, 0);
           EXPECT_EQ(gpu(it, 2).numa_node, 1);
           EXPECT_EQ(gpu(it, 0).memory_numa_node, 2);
           EXPECT_EQ(gpu(it, 1).memory_numa_node, 10);
           EXPECT_EQ(gpu(it, 2).memory_numa_node, 18);
           expect_healthy(it);
         }},
    Fact{kGb200, 3, "last row cut",
         [](const FactCase& it) {
           EXPECT_TRUE(has_skipped(it));
           EXPECT_FALSE(gpu(it, 3).cpus);
         }},
    Fact{kGb200, 4, "NICs SYS to all",
         [](const FactCase& it) {
           ASSERT_EQ(it.machine().nics.size(), 6U);
           for (int n = 0; n < 6; ++n) EXPECT_EQ(gpu_to_nic(it, 0, nic_at(it, n)), PathClass::sys);
         }},
    Fact{kTwoSwitches, 1, "no NVLink",
         [](const FactCase& it) {
           for (int a = 0; a < 8; ++a) {
             for (int b = a + 1; b < 8; ++b)
               EXPECT_EQ(between_gpus(it, a, b), a / 4 == b / 4 ? PathClass::pix : PathClass::sys);
           }
           expect_healthy(it);
         }},
    Fact{kTwoSwitches, 2, "NIC1,3,4,5 PIX",
         [](const FactCase& it) {
           const std::set<int> low{1, 3, 4, 5};
           for (int n = 0; n < 8; ++n) {
             EXPECT_EQ(gpu_to_nic(it, 0, nic_at(it, n)), low.contains(n) ? PathClass::pix : PathClass::sys)
                 << n;
             EXPECT_EQ(gpu_to_nic(it, 7, nic_at(it, n)), low.contains(n) ? PathClass::sys : PathClass::pix)
                 << n;
           }
         }},
    Fact{kTwoSwitches, 3, "contiguous order",
         [](const FactCase& it) {
           EXPECT_EQ(best_levels(it), (Levels{{"PIX", 6}, {"SYS", 2}}));
           expect_contiguous_halves(it);
         }},
    Fact{kTwoSwitches, 4, "last row cut", [](const FactCase& it) { EXPECT_TRUE(has_skipped(it)); }},
    Fact{kReversed, 1, "NV18", [](const FactCase& it) { expect_all_pairs(it, PathClass::nvl, 18); }},
    Fact{kReversed, 2, "GPU k PIX NIC(8-k)",
         [](const FactCase& it) {
           for (int i = 0; i < 8; ++i) {
             EXPECT_EQ(gpu_to_nic(it, i, nic_at(it, 8 - i)), PathClass::pix) << i;
             EXPECT_EQ(nic_for(it, i), nic_at(it, 8 - i)) << i;
           }
           expect_healthy(it);
         }},
    Fact{kReversed, 3, "NIC0 SYS to all",
         [](const FactCase& it) {
           EXPECT_TRUE(is_excluded(it, nic_at(it, 0)));
           EXPECT_TRUE(has_problem(it, "nic_not_a_rail"));
         }},
    Fact{kReversed, 4, "rows NIC6-8",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().nics.size(), 9U);
           EXPECT_TRUE(has_skipped(it));
         }},
};

}  // namespace

std::span<const Fact> matrix_facts() { return kFacts; }

}  // namespace ringcomm::topology_facts
