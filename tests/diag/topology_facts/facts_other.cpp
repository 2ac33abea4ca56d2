// SPDX-License-Identifier: Apache-2.0
// nvidia-smi nvlink and topo -p2p, InfiniBand tools and sysfs, lspci, NCCL logs; and the facts that stay
// open.
#include <algorithm>
#include <array>
#include <set>

#include "diag/topology_facts/facts.hpp"

namespace ringcomm::topology_facts {
namespace {

using Ints = std::vector<int>;

constexpr std::string_view kHgxStatus = "nvidia-smi-nvlink/hgx-8xh200-status.txt";
constexpr std::string_view kHgxRemote = "nvidia-smi-nvlink/hgx-h200-gpu0-remote.txt";
constexpr std::string_view kA100Status = "nvidia-smi-nvlink/slingshot-4xa100-status.txt";
constexpr std::string_view kInactive = "nvidia-smi-nvlink/v100-two-links-inactive-excerpt.txt";
constexpr std::string_view kP2pOk = "nvidia-smi-p2p/hgx-8xh200-ok.txt";
constexpr std::string_view kGns = "nvidia-smi-p2p/2x5090-gns.txt";
constexpr std::string_view kDevinfo = "ib/ibv_devinfo-port-down-excerpt.txt";
constexpr std::string_view kPolling = "ib/ibstat-polling-10.txt";
constexpr std::string_view kDisabled = "ib/ibstatus-ports-disabled-excerpt.txt";
constexpr std::string_view kGids = "ib/gid-table-bond.txt";
constexpr std::string_view kSysfs = "sysfs-ib/hgx-8xndr-1bond/";
constexpr std::string_view kLspci = "lspci/8xh100-sapphire-rapids-bridges.txt";
constexpr std::string_view kVmLog = "nccl-log/vm-gen1-bridge-graph.log";
constexpr std::string_view kGdrLog = "nccl-log/gdr-disabled-peermem-check.log";
constexpr std::string_view kShmLog = "nccl-log/shm-full.log";
constexpr std::string_view kVerbsLog = "nccl-log/no-libibverbs-socket-over-ipoib.log";
constexpr std::string_view kRailLog = "nccl-log/rail-only-fabric-cross-nic-timeout.log";
constexpr std::string_view kGb200Log = "nccl-log/gb200-fabric-affinity.log";
constexpr std::string_view kP4dLog = "nccl-log/p4d-affinity-slurm.log";
constexpr std::string_view kTornLog = "nccl-log/slingshot-4xa100-torn-lines.log";
constexpr std::string_view kB200Log = "nccl-log/container-8xb200-socket.log";

void expect_ports(const FactCase& it, std::size_t gpus, std::size_t links, double gb_per_s) {
  ASSERT_EQ(it.machine().gpus.size(), gpus);
  for (const Gpu& one : it.machine().gpus) {
    ASSERT_EQ(one.nvlink_ports.size(), links);
    for (const NvLinkPort& port : one.nvlink_ports) {
      EXPECT_EQ(port.is_active, true);
      EXPECT_NEAR(port.gb_per_s.value_or(0), gb_per_s, 0.001);
    }
  }
  expect_healthy(it);
}

const Gid& gid(const FactCase& it, int index) {
  static const Gid kNone;
  for (const Nic& one : it.machine().nics) {
    for (const Port& port : one.ports) {
      for (const Gid& entry : port.gids) {
        if (entry.index == index) return entry;
      }
    }
  }
  ADD_FAILURE() << "no GID " << index;
  return kNone;
}

const Port& port(const FactCase& it, std::string_view name) {
  static const Port kNone;
  const Nic& one = nic(it, name);
  if (one.ports.empty()) {
    ADD_FAILURE() << name << " has no port";
    return kNone;
  }
  return one.ports[0];
}

std::set<std::string> values(const FactCase& it, LogEventKind kind, std::string_view key) {
  std::set<std::string> found;
  for (const LogEvent& event : events(it, kind)) found.insert(std::string(event.value(key)));
  return found;
}

constexpr std::array kFacts{
    Fact{kHgxStatus, 1, "8 GPUs x 18 links", [](const FactCase& it) { expect_ports(it, 8, 18, 26.562); }},
    Fact{kHgxRemote, 1, "`nvlink -R`",
         [](const FactCase& it) {
           std::map<std::string, int> remotes;
           for (const NvLinkPort& one : gpu(it, 0).nvlink_ports) {
             std::string name = one.remote_name;
             if (name.empty() && one.remote) name = one.remote->to_text();
             ++remotes[name];
           }
           Ints counts;
           for (const auto& [name, count] : remotes) counts.push_back(count);
           EXPECT_EQ(counts, (Ints{4, 5, 5, 4}));  // in the order of their names: C3 to C6
         }},
    Fact{kA100Status, 1, "4 GPUs x 12 links", [](const FactCase& it) { expect_ports(it, 4, 12, 25); }},
    Fact{kInactive, 1, "**trouble:** GPU 3 links",
         [](const FactCase& it) {
           ASSERT_EQ(gpu(it, 3).nvlink_ports.size(), 6U);
           for (const NvLinkPort& one : gpu(it, 3).nvlink_ports)
             EXPECT_EQ(one.is_active, one.index != 3 && one.index != 5) << one.index;
           const auto problem = finding(it, "nvlink_inactive");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->evidence[0].read, "GPU3: 4 NVLinks active, 2 inactive");
         }},
    Fact{kInactive, 2, "starts with",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().gpus.size(), 1U);
           EXPECT_TRUE(it.made.unread.empty());
           EXPECT_NE(gpu(it, 3).name.find("V100"), std::string::npos);
         }},
    Fact{kP2pOk, 1, "`topo -p2p`",
         [](const FactCase& it) {
           EXPECT_EQ(std::ranges::count(it.machine().p2p, "OK", &P2pStatus::status), 56);
           EXPECT_FALSE(has_problem(it, "p2p_refused"));
           EXPECT_FALSE(finding(it, "p2p_refused", CheckState::unknown));
         }},
    Fact{kGns, 1, "**trouble:** GNS",
         [](const FactCase& it) {
           const auto problem = finding(it, "p2p_refused");
           ASSERT_TRUE(problem);
           EXPECT_EQ(problem->evidence.size(), 2U);
           EXPECT_NE(problem->evidence[0].read.find("GNS"), std::string::npos);
         }},
    Fact{kDevinfo, 1, "mlx5_0 PORT_DOWN",
         [](const FactCase& it) {
           EXPECT_EQ(port(it, "mlx5_0").state, PortState::down);
           EXPECT_EQ(port(it, "mlx5_0").lid, 65535);
           EXPECT_TRUE(has_problem(it, "port_down"));
         }},
    Fact{kDevinfo, 2, "mlx5_1 entry ends",
         [](const FactCase& it) {
           const Nic& one = nic(it, "mlx5_1");
           for (const Port& entry : one.ports) EXPECT_EQ(entry.state, PortState::unknown);
           EXPECT_TRUE(finding(it, "port_state_unknown", CheckState::unknown));
           EXPECT_EQ(finding(it, "port_down")->devices.size(), 1U);
         }},
    Fact{kPolling, 1, "Down, Polling",
         [](const FactCase& it) {
           EXPECT_EQ(port(it, "mlx5_10").state, PortState::down);
           EXPECT_EQ(port(it, "mlx5_10").phys_state, PhysState::polling);
           EXPECT_EQ(port(it, "mlx5_10").gbit_per_s, 10.0);
           const auto problem = finding(it, "port_polling");
           ASSERT_TRUE(problem);
           EXPECT_NE(problem->title.find("cable or far"), std::string::npos);
         }},
    Fact{kPolling, 2, "GUIDs \"...\"",
         [](const FactCase& it) {
           // the dots are no guid: two such devices are not one
           EXPECT_TRUE(nic(it, "mlx5_10").guid.empty()) << nic(it, "mlx5_10").guid;
         }},
    Fact{kGids, 1, "index 3",
         [](const FactCase& it) {
           EXPECT_EQ(gid(it, 3).type, "RoCE v2");
           EXPECT_NE(gid(it, 3).address.find("192.0.2.6"), std::string::npos) << gid(it, 3).address;
         }},
    Fact{kGids, 2, "0, 2 are",
         [](const FactCase& it) {
           for (const int index : {0, 2}) EXPECT_NE(gid(it, index).type.find("v1"), std::string::npos);
         }},
    Fact{kGids, 3, "1 is v2",
         [](const FactCase& it) {
           EXPECT_EQ(gid(it, 1).type, "RoCE v2");
           EXPECT_TRUE(gid(it, 1).address.starts_with("fe80"));
         }},
    Fact{kSysfs, 1, "9 devices",
         [](const FactCase& it) {
           EXPECT_EQ(it.machine().nics.size(), 9U);
           int infiniband = 0;
           for (const Nic& one : it.machine().nics) {
             ASSERT_EQ(one.ports.size(), 1U);
             if (one.ports[0].link_layer != LinkLayer::infiniband) continue;
             ++infiniband;
             EXPECT_EQ(one.ports[0].rate_text, "400 Gb/sec (4X NDR)");
             EXPECT_EQ(one.ports[0].gbit_per_s, 400.0);
           }
           EXPECT_EQ(infiniband, 8);
           EXPECT_EQ(port(it, "mlx5_bond_0").link_layer, LinkLayer::ethernet);
           EXPECT_EQ(port(it, "mlx5_bond_0").rate_text, "200 Gb/sec (2X NDR)");
           expect_healthy(it);
         }},
    Fact{kSysfs, 2, "all ACTIVE",
         [](const FactCase& it) {
           for (const Nic& one : it.machine().nics) {
             EXPECT_EQ(one.ports.at(0).state, PortState::active);
             EXPECT_EQ(one.ports.at(0).phys_state, PhysState::link_up);
           }
         }},
    Fact{kSysfs, 3, "mlx5_1 link_downed",
         [](const FactCase& it) {
           const auto& counters = port(it, "mlx5_1").counters;
           ASSERT_TRUE(counters.contains("link_downed"));
           EXPECT_EQ(counters.at("link_downed"), 255U);
           EXPECT_FALSE(has_problem(it, "port_errors"));
         }},
    Fact{kSysfs, 4, "fw 28.41.1000",
         [](const FactCase& it) {
           EXPECT_EQ(nic(it, "mlx5_0").firmware, "28.41.1000");
           EXPECT_EQ(nic(it, "mlx5_bond_0").firmware, "32.38.3056");
         }},
    Fact{kLspci, 1, "GPU/NIC pairs",
         [](const FactCase& it) {
           const std::array<std::pair<const char*, const char*>, 8> pairs{{{"19", "1a"},
                                                                           {"3b", "3c"},
                                                                           {"4c", "4d"},
                                                                           {"5d", "5e"},
                                                                           {"9b", "9c"},
                                                                           {"bb", "bc"},
                                                                           {"cb", "cc"},
                                                                           {"db", "dc"}}};
           EXPECT_EQ(it.machine().gpus.size(), 8U);
           for (const auto& pair : pairs) {
             const char* const gpu_bus = pair.first;
             const char* const nic_bus = pair.second;
             for (const char* bus : {gpu_bus, nic_bus}) {
               const PciDevice& device = function_of(it, bus_id(std::string(bus) + ":00.0"));
               EXPECT_EQ(device.link.gt_per_s, 32.0) << bus;
               EXPECT_EQ(device.link.width, 16) << bus;
             }
             EXPECT_TRUE(std::ranges::any_of(it.machine().gpus, [&](const Gpu& one) {
               return one.bus == bus_id(std::string(gpu_bus) + ":00.0");
             }));
             const auto bridge_bus = [&](const char* bus) {
               const auto* bridge = bridge_above(it, bus_id(std::string(bus) + ":00.0"));
               return bridge != nullptr && bridge->parent ? *bridge->parent : -1;
             };
             EXPECT_EQ(bridge_bus(gpu_bus), bridge_bus(nic_bus)) << gpu_bus;
           }
         }},
    Fact{kLspci, 2, "6 bridges have SrcValid+",
         [](const FactCase& it) {
           int valid = 0;
           std::set<std::string> redirecting;
           for (const PciDevice& device : it.machine().pci) {
             if (!device.acs) continue;
             valid += device.acs->source_validation ? 1 : 0;
             if (device.acs->redirects()) redirecting.insert(device.id.to_text());
           }
           EXPECT_EQ(valid, 6);
           EXPECT_EQ(redirecting,
                     (std::set<std::string>{"0000:82:00.0", "0000:82:01.0", "0000:82:02.0", "0000:82:03.0"}));
           EXPECT_FALSE(has_problem(it, "acs_redirect"));
         }},
    Fact{kLspci, 3, "\"(downgraded)\"", [](const FactCase& it) { expect_healthy(it); }},
    Fact{kVmLog, 1, "graph lines",
         [](const FactCase& it) {
           const auto problem = finding(it, "pcie_bridge_slow");
           ASSERT_TRUE(problem);
           EXPECT_NE(problem->evidence[0].read.find("PCI[0.2]"), std::string::npos)
               << problem->evidence[0].read;
           EXPECT_EQ(problem->evidence[0].wanted.substr(0, 2), "48");
         }},
    Fact{kGdrLog, 1, "GPU Direct RDMA Disabled",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::gpu_direct, "hca").size(), 3U);
           std::set<int> devices;
           for (const LogEvent& event : events(it, LogEventKind::gpu_direct))
             devices.insert(event.device.value_or(-1));
           EXPECT_EQ(devices, (std::set<int>{3, 4}));
           EXPECT_TRUE(has_problem(it, "gpu_direct_disabled"));
         }},
    Fact{kShmLog, 1, "posix_fallocate",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::shm_failure, "call"),
                     (std::set<std::string>{"posix_fallocate"}));
           EXPECT_TRUE(has_problem(it, "shm_too_small"));
         }},
    Fact{kVerbsLog, 1, "libibverbs missing",
         [](const FactCase& it) {
           EXPECT_TRUE(has_problem(it, "verbs_missing"));
           const auto sockets = finding(it, "socket_network");
           ASSERT_TRUE(sockets);
           EXPECT_EQ(sockets->cause, "verbs_missing");
           EXPECT_NE(sockets->evidence[0].read.find("ibp5s0"), std::string::npos);
         }},
    Fact{kVerbsLog, 2, "`SYS[5000.0]`",
         [](const FactCase& it) {
           const auto edges = events(it, LogEventKind::graph_edge);
           EXPECT_TRUE(std::ranges::any_of(edges, [](const LogEvent& event) {
             return event.value("class") == "SYS" && event.value("gb_per_s").starts_with("5000");
           }));
           const auto totals = events(it, LogEventKind::system_bandwidth);
           ASSERT_FALSE(totals.empty());
           EXPECT_TRUE(totals[0].value("total").starts_with("252"));
           EXPECT_TRUE(totals[0].value("max").starts_with("252"));
         }},
    Fact{kRailLog, 1, "ibv_modify_qp 110",
         [](const FactCase& it) {
           const auto failures = events(it, LogEventKind::qp_failure);
           ASSERT_EQ(failures.size(), 1U);
           EXPECT_EQ(failures[0].value("call"), "ibv_modify_qp");
           EXPECT_EQ(failures[0].value("code"), "110");
           EXPECT_EQ(failures[0].value("gid_index"), "3");
           EXPECT_TRUE(has_problem(it, "rails_not_connected"));
         }},
    Fact{kGb200Log, 1, "MNNVL fabric state 3",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::fabric, "state"), (std::set<std::string>{"3"}));
           EXPECT_EQ(values(it, LogEventKind::fabric, "clique"), (std::set<std::string>{"0x7ffe"}));
           EXPECT_EQ(values(it, LogEventKind::fabric, "health"), (std::set<std::string>{"0xaa"}));
           EXPECT_EQ(values(it, LogEventKind::fabric, "bus").size(), 4U);
           EXPECT_FALSE(has_problem(it, "fabric_not_ready"));
           EXPECT_FALSE(has_problem(it, "fabric_clique_differs"));
         }},
    Fact{kGb200Log, 2, "affinity masks",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::affinity, "cpus"), (std::set<std::string>{"0-71", "72-143"}));
           EXPECT_EQ(
               values(it, LogEventKind::affinity, "mask"),
               (std::set<std::string>{"ff,ffffffff,ffffffff", "ffff,ffffffff,ffffff00,00000000,00000000"}));
         }},
    Fact{kP4dLog, 1, "topology file set",
         [](const FactCase& it) {
           const auto files = events(it, LogEventKind::topology_file);
           ASSERT_FALSE(files.empty());
           EXPECT_NE(files[0].value("path").find("p4d-24xl-topo.xml"), std::string::npos);
         }},
    Fact{kP4dLog, 2, "affinity mask `ff`",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::affinity, "cpus"), (std::set<std::string>{"0-7"}));
           const auto narrow = finding(it, "affinity_narrow");
           ASSERT_TRUE(narrow);
           EXPECT_NE(narrow->evidence[0].read.find("8 CPUs"), std::string::npos);
         }},
    Fact{kTornLog, 1, "lines of 4 ranks",
         [](const FactCase& it) {
           std::set<int> devices;
           for (const LogEvent& event : it.made.evidence.job.events)
             devices.insert(event.device.value_or(-1));
           for (int i = 0; i < 4; ++i) EXPECT_TRUE(devices.contains(i)) << i;
           EXPECT_EQ(it.made.evidence.job.rings.size(), 24U);  // though some stand inside torn lines
         }},
    Fact{kTornLog, 2, "24 channels",
         [](const FactCase& it) {
           std::set<Ints> orders;
           std::set<int> channels;
           for (const ConfiguredRing& ring : it.made.evidence.job.rings) {
             orders.insert(ring.order);
             channels.insert(ring.channel);
           }
           EXPECT_EQ(channels.size(), 24U);
           EXPECT_EQ(orders.size(), 6U);
         }},
    Fact{kTornLog, 3, "P2P/CUMEM/read",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::transport, "via"), (std::set<std::string>{"P2P/CUMEM/read"}));
         }},
    Fact{kTornLog, 4, "NIC for all ranks",
         [](const FactCase& it) {
           EXPECT_EQ(values(it, LogEventKind::gpu_direct, "hca"), (std::set<std::string>{"cxi0"}));
         }},
    Fact{kTornLog, 5, "4 ranks, 1 node",
         [](const FactCase& it) {
           bool is_said = false;
           for (const LogEvent& event : events(it, LogEventKind::communicator)) {
             is_said = is_said || (event.value("ranks") == "4" && event.value("nodes") == "1");
           }
           EXPECT_TRUE(is_said);
         }},
    Fact{kB200Log, 1, "32 channels",
         [](const FactCase& it) {
           const auto& rings = it.made.evidence.job.rings;
           ASSERT_FALSE(rings.empty());
           EXPECT_EQ(rings.back().channel, 31);
           for (const ConfiguredRing& ring : rings) EXPECT_EQ(ring.order, (Ints{0, 1, 2, 3, 4, 5, 6, 7}));
           EXPECT_EQ(values(it, LogEventKind::network, "name"), (std::set<std::string>{"Socket"}));
           EXPECT_EQ(values(it, LogEventKind::fabric, "uuid"), (std::set<std::string>{"0.0"}));
           EXPECT_TRUE(has_problem(it, "socket_network"));
         }},
};

constexpr std::array kOpen{
    OpenFact{kDisabled, 1, "ports DOWN / Disabled",
             "the file says that mlx5_3 is InfiniBand at 10 Gb/s, not Ethernet at 40"},
    OpenFact{kVmLog, 2, "27 instead of 475", "told in the thread, not in the file"},
};

}  // namespace

std::span<const Fact> other_facts() { return kFacts; }
std::span<const OpenFact> open_facts() { return kOpen; }

}  // namespace ringcomm::topology_facts
