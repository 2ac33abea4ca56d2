// SPDX-License-Identifier: Apache-2.0
// The whole report as text: one screen for a machine of eight GPUs.
#pragma once

#include <optional>
#include <string>

#include "ringcomm/topology/cluster_rings.hpp"
#include "screen.hpp"
#include "topo_json.hpp"

namespace ringcomm::doctor {

/// `rails`: also the rings over the hosts, if these reach each other so.
std::string topo_text(const TopoReport& report, const TextStyle& style, std::optional<Rails> rails = {});
/// What read_evidence_paths understands, with the command that makes each.
std::string formats_text();

}  // namespace ringcomm::doctor
