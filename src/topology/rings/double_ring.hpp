// SPDX-License-Identifier: Apache-2.0
// An inner ring in every host, and an exchange between hosts that keeps the rail.
#pragma once

#include <optional>

#include "topology/rings/host_paths.hpp"

namespace ringcomm::inline v0::topology {

/// [hosts] inner ring of local GPUs, aligned: the same position has the same rail in every host (with other
/// than same-index rails it need not). Nothing when hosts differ in their GPUs per rail, or a GPU reaches no
/// usable rail.
struct DoubleRing {
  std::vector<std::vector<int>> inner{};
  std::vector<std::vector<int>> rail{};  ///< [hosts][position]
};
Result<std::optional<DoubleRing>> align_inner_rings(const ClusterRequest& request,
                                                    const std::vector<std::vector<int>>& usable,
                                                    const HostPaths& paths);

}  // namespace ringcomm::inline v0::topology
