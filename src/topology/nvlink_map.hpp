// SPDX-License-Identifier: Apache-2.0
// NVLinks (and xGMI, C2C) of each GPU, joined by what they end in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0::topology {

/// What nvidia-smi prints per link, and what hwloc's matrix holds, is raw: 20.6 of 26.562 (NVLink 4) and 20
/// of 25.781 (NVLink 2) are planned with (topology spec 2.1; NCCL graph/topo.h).
inline constexpr double kPlannedShareOfRaw = 0.776;

/// Links that lie side by side. An absent value is unknown.
struct LinkBundle {
  LinkKind kind = LinkKind::nvlink;
  std::optional<int> count{};
  Bandwidth bandwidth{};
};

/// A switch is told apart by its host and bus id; the hidden switch of multi-node NVLink has no host.
using SwitchKey = std::pair<int, std::optional<PciBusId>>;

struct GpuLinks {
  std::map<int, LinkBundle> gpus{};  ///< by position in Machine::gpus
  std::map<SwitchKey, LinkBundle> switches{};
  std::optional<LinkBundle> cpu{};  ///< NVLink (POWER) or C2C (Grace) to the GPU's own CPU
  bool has_unknown_end = false;     ///< a link that may lead to any GPU
};

/// [Machine::gpus]
std::vector<GpuLinks> collect_links(const Machine& machine, const CostModel& costs);

/// For planning, as the GPU's ports tell it, else by its generation.
Bandwidth bandwidth_of_one_link(const Gpu& gpu, const CostModel& costs);

struct NvConnection {
  LinkBundle links{};
  bool is_switched = false;
};
/// Between two GPUs: direct links, or a switch that both reach. The weaker end counts.
std::optional<NvConnection> connection(const Machine& machine, const std::vector<GpuLinks>& links, int a,
                                       int b);

}  // namespace ringcomm::inline v0::topology
