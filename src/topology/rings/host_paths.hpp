// SPDX-License-Identifier: Apache-2.0
// Ways through a host: from the GPU of the NIC a ring comes in by to the GPU of the NIC it leaves by.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ringcomm/topology/cluster_rings.hpp"
#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {

struct HostPath {
  std::vector<int> gpus{};    ///< local, in order
  std::vector<int> counts{};  ///< edges of each level of the cluster, worst first
};

/// How a ring leaves a host on the rail it came in by, where it does.
enum class RailExit : std::uint8_t {
  near_gpu,   ///< from a GPU that has that NIC
  over_peer,  ///< from another GPU, over the one that has the NIC (NCCL's PXN)
  over_host   ///< from any GPU, however far the NIC is
};

/// The best path for each kind of host and pair of rails, computed once: hosts of a cluster are mostly alike.
class HostPaths {
 public:
  explicit HostPaths(const std::vector<ClusterHost>& hosts);

  int kind_count() const { return static_cast<int>(kinds_.size()); }
  int kind_of(int host) const { return kind_of_[static_cast<std::size_t>(host)]; }
  std::size_t level_count() const { return levels_.size(); }

  /// Rails -1: any GPU. Nothing: no two GPUs fit. A host of one GPU enters and leaves there.
  const std::optional<HostPath>& between(int host, int rail_in, int rail_out, RailExit exit);

 private:
  struct Kind {
    const ClusterHost* host = nullptr;
    LevelTable table{};
  };
  std::optional<HostPath> find(const Kind& kind, int rail_in, int rail_out, RailExit exit) const;
  std::optional<HostPath> path(const Kind& kind, std::optional<int> first, std::optional<int> last) const;

  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;
  std::vector<int> levels_;  ///< that occur anywhere, ascending
  std::map<std::tuple<int, int, int, RailExit>, std::optional<HostPath>> found_;
};

/// The local GPU that has the NIC of a rail and over which `gpu` can send at twice the NIC's rate (spec 2.5);
/// nothing where there is none or a bandwidth is unknown.
std::optional<int> relay_to_rail(const ClusterHost& host, int gpu, int rail);

}  // namespace ringcomm::inline v0::topology
