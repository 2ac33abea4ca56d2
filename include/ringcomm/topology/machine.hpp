// SPDX-License-Identifier: Apache-2.0
// A machine, or several that were described together, as plain data. Readers fill it; it computes nothing.
// An absent value means "unknown": nothing here is ever a default that somebody did not write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/binding.hpp"
#include "ringcomm/topology/path_class.hpp"
#include "ringcomm/topology/pci.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// One operating system.
struct Host {
  std::string name{};     ///< host name, NCCL's host_hash, or empty
  std::string product{};  ///< DMI product, for example "NVIDIA DGX-2H"
  std::optional<bool> is_virtual{};
};

/// A source that knows the CPUs' type but not which package a node belongs to (NCCL's files) gives one
/// Package per host and type, to which no node refers.
struct Package {
  int host = 0;
  int id = 0;            ///< os id: a label
  std::string vendor{};  ///< "GenuineIntel", "AuthenticAMD", "IBM", "ARM"
  std::string model_name{};
  std::string arch{};           ///< "x86_64", "arm64", "ppc64"
  std::optional<int> family{};  ///< as the source says; NCCL's familyid is its own sum, not lscpu's
  std::optional<int> model{};
};

/// Memory node. Ids are labels (0 and 8, or 3, 1, 7, 5).
struct NumaNode {
  int host = 0;
  int id = 0;
  std::optional<int> package{};            ///< position in Machine::packages; absent: unknown
  std::optional<std::vector<int>> cpus{};  ///< sorted; empty: memory only (a GPU's, CXL); absent: unknown
  std::optional<std::uint64_t> memory_bytes{};
  std::string subtype{};  ///< "GPUMemory"
  Where where{};

  bool is_memory_only() const { return cpus && cpus->empty(); }
};
struct NumaDistance {
  int host = 0;
  int from = 0;  ///< NumaNode::id
  int to = 0;
  int value = 0;  ///< 10 is local
};

enum class GpuVendor : std::uint8_t { unknown, nvidia, amd, intel };

/// One NVLink (or xGMI) port as the driver reports it.
struct NvLinkPort {
  int index = 0;
  std::optional<bool> is_active{};
  std::optional<double> gb_per_s{};  ///< as printed: raw, one direction
  std::optional<PciBusId> remote{};
  std::string remote_name{};  ///< "C3" of nvlink -R, where there is no bus id
};

/// What NVML says of a live GPU beyond its place.
struct GpuState {
  std::optional<bool> mig_enabled{};
  std::string compute_mode{};  ///< "Default", "Exclusive_Process", "Prohibited"; empty: unknown
  std::optional<bool> persistence{};
  std::optional<std::uint64_t> bar1_bytes{};
  std::optional<std::uint64_t> ecc_uncorrected{};
  std::optional<bool> remap_pending{};
  std::optional<bool> remap_failed{};
  std::string fabric_state{};  ///< "not supported", "not started", "in progress", "completed"; empty: unknown
  std::string fabric_cluster{};  ///< cluster uuid and clique
  std::string clock_event_reasons{};
};

struct Gpu {
  int host = 0;
  int index = 0;  ///< as the source numbers it; only (host, index) is unique
  std::optional<PciBusId> bus{};
  std::optional<int> pci{};  ///< position in Machine::pci
  GpuVendor vendor = GpuVendor::unknown;
  std::string name{};
  std::string uuid{};
  std::optional<int> compute_capability{};  ///< 70, 80, 90, 100
  std::optional<int> rank{};
  std::optional<int> numa_node{};          ///< os id of the CPUs' node
  std::optional<int> memory_numa_node{};   ///< os id of a node that is this GPU's own memory
  std::optional<std::vector<int>> cpus{};  ///< near CPUs
  std::optional<bool> gpu_direct{};        ///< GPUDirect RDMA
  std::vector<NvLinkPort> nvlink_ports{};
  /// No source that lists this GPU shows NVLinks, whatever Machine::has_link_evidence says of the others.
  bool is_link_count_unknown = false;
  GpuState state{};
  Where where{};
};

enum class LinkKind : std::uint8_t { nvlink, xgmi, c2c };
/// What a link of a GPU ends in.
enum class LinkEnd : std::uint8_t { gpu, nvswitch, numa_node, unknown };

/// Bonded links from one GPU to one target, one direction; the other direction is the target's own entry.
struct Link {
  LinkKind kind = LinkKind::nvlink;
  int gpu = 0;  ///< position in Machine::gpus
  LinkEnd end = LinkEnd::unknown;
  /// Position in Machine::gpus or Machine::numa_nodes, by `end`. Switches are told apart by `target`. A link
  /// that ends in its own GPU (peer == gpu) is an error of the file that was read; no path uses it.
  std::optional<int> peer{};
  std::optional<PciBusId> target{};
  std::optional<int> count{};
  std::optional<double> gb_per_s_each{};  ///< as the evidence says; else the cost table decides by generation
  Where where{};
};

enum class PortState : std::uint8_t { unknown, down, initializing, armed, active };
enum class PhysState : std::uint8_t { unknown, sleep, polling, disabled, training, link_up, error_recovery };
enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };

struct Gid {
  int index = 0;
  std::string address{};  ///< IPv6 text; IPv4-mapped for RoCE over IPv4
  std::string type{};     ///< "IB/RoCE v1", "RoCE v2"
  std::string net_device{};
};

/// A port is a rail of its own; the ports of one NIC share its PCIe budget.
struct Port {
  int number = 1;
  std::string net_name{};          ///< NCCL's net name, or the network interface
  std::optional<int> net_index{};  ///< NCCL's net dev
  PortState state = PortState::unknown;
  PhysState phys_state = PhysState::unknown;
  LinkLayer link_layer = LinkLayer::unknown;
  std::optional<double> gbit_per_s{};
  std::string rate_text{};  ///< "400 Gb/sec (4X NDR)"
  std::optional<int> lid{};
  std::optional<int> active_mtu_bytes{};
  std::optional<int> max_mtu_bytes{};
  std::vector<Gid> gids{};
  std::map<std::string, std::uint64_t> counters{};
  std::optional<bool> gpu_direct{};
  Where where{};
};

struct Nic {
  int host = 0;
  std::string name{};  ///< "mlx5_0", "NIC0", "eth0"
  std::optional<PciBusId> bus{};
  std::optional<int> pci{};  ///< position in Machine::pci
  std::optional<int> numa_node{};
  std::string guid{};
  std::string firmware{};
  std::string model{};  ///< hca_type
  bool is_rdma = true;  ///< false: sockets only (eth0)
  std::vector<Port> ports{};
  Where where{};
};

enum class PartKind : std::uint8_t { gpu, nic, numa_node };
struct DeviceRef {
  PartKind kind = PartKind::gpu;
  int position = 0;  ///< in Machine::gpus, nics or numa_nodes
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const DeviceRef&, const DeviceRef&) = default;
};

/// A path as the evidence states it (`nvidia-smi topo -m`, an hwloc matrix): wins over one that is derived.
struct StatedPath {
  DeviceRef from{};
  DeviceRef to{};
  PathClass path_class = PathClass::unknown;
  std::optional<int> nvlinks{};
  std::optional<double> gb_per_s{};  ///< raw, one direction, where the evidence has it (hwloc's matrix)
  Where where{};
};

/// A cell of `nvidia-smi topo -p2p` or NVML's answer.
struct P2pStatus {
  int from = 0;  ///< positions in Machine::gpus
  int to = 0;
  std::string capability{};  ///< "read", "write", "nvlink", "atomics", "prop"; empty: the table does not say
  std::string status{};      ///< "OK", "CNS", "GNS", "TNS", "NS", "DR", "U"
  Where where{};
};

struct Machine {
  std::vector<Host> hosts{};
  std::vector<Package> packages{};
  std::vector<NumaNode> numa_nodes{};
  std::vector<NumaDistance> numa_distances{};
  std::vector<CoreInfo> cores{};  ///< of host 0; empty: unknown
  std::vector<PciDevice> pci{};
  std::vector<Gpu> gpus{};
  std::vector<Nic> nics{};
  std::vector<Link> links{};
  std::vector<StatedPath> stated_paths{};
  std::vector<P2pStatus> p2p{};
  /// Whether the sources could have shown these at all: "no devices in this file" is not "no GPU". A source
  /// that shows NVLinks sets has_link_evidence even when there are none; `topo -mp` does not.
  bool has_gpu_evidence = false;
  bool has_nic_evidence = false;
  bool has_link_evidence = false;
};

/// "GPU3", "mlx5_0", "NUMA1"; with several hosts "host1/GPU3".
std::string name_of(const Machine& machine, DeviceRef device);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
