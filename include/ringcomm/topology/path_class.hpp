// SPDX-License-Identifier: Apache-2.0
// Path classes in the words of NCCL and nvidia-smi.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Best first; the order is NCCL's (graph/topo.h), with nvidia-smi's NODE between PHB and SYS.
enum class PathClass : std::uint8_t {
  loc,     ///< the same device (or the same NUMA node, for ranks on the host)
  nvl,     ///< NVLink or xGMI, directly or through switches of it; the count of links says how wide
  nvb,     ///< NVLink through one other GPU
  c2c,     ///< NVLink-C2C to the CPU
  pix,     ///< at most one PCIe bridge
  pxb,     ///< several PCIe bridges, no host bridge
  p2c,     ///< C2C to the CPU, then PCIe
  pxn,     ///< over NVLink to a GPU that is near the NIC
  phb,     ///< through a PCIe host bridge (the CPU)
  node,    ///< between host bridges of one NUMA node; for ranks on the host: between NUMA nodes of a package
  sys,     ///< between NUMA nodes (sockets)
  net,     ///< over the network
  dis,     ///< no path
  unknown  ///< the evidence does not say; planned last, and always reported
};

/// "NVL", "PIX", ...; "?" for unknown.
std::string_view name_of(PathClass path_class);
/// "PIX", "nvl"; "X" is loc, "NV12" is nvl. Nothing for other words.
std::optional<PathClass> parse_path_class(std::string_view word);

/// Where a number comes from, worst first.
enum class Source : std::uint8_t { unknown, table, evidence, measured };
std::string_view name_of(Source source);

/// GB/s (1e9 bytes) in one direction. Never 0 for "unknown": the value is then absent.
struct Bandwidth {
  std::optional<double> gb_per_s{};
  Source source = Source::unknown;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
