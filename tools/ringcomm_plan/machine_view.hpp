// SPDX-License-Identifier: Apache-2.0
// From flags and evidence to what planning needs of the machines, and the rings that it shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace ringcomm::planner {

struct ShownRing {
  std::vector<std::string> names{};  ///< in order: "GPU0", "NUMA1", with several hosts "host1/GPU0"
  std::optional<double> gb_per_s{};
  double share = 1;
};
struct MachineView {
  Fabric fabric{};
  bool has_gpus = false;           ///< the evidence shows them
  std::vector<ShownRing> rings{};  ///< of one host
  std::string rings_explained{};
  std::optional<double> all_rings_gb_per_s{};  ///< of several link-disjoint rings together
  std::string scheme{};                        ///< between hosts: "rail_rings", ...; empty with one host
  std::string scheme_explained{};
  int nics_used = 0;
  int nics_total = 0;
  int cross_rail_hops = 0;
  std::vector<std::string> notes{};   ///< contradictions, what was skipped
  std::vector<std::string> unread{};  ///< files, with the reason
};
/// Numbers of flags win over those of the evidence. invalid_argument: the counts do not fit together; names
/// both. `ranks` of the request is set; what was assumed is added to options.assumed.
Result<MachineView> view_machine(Options& options);

/// The rings between hosts for one context-parallel group of `split`. Empty scheme with one host.
Status add_cluster_rings(const Options& options, const Split& split, MachineView& view);

}  // namespace ringcomm::planner
