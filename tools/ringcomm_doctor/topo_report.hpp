// SPDX-License-Identifier: Apache-2.0
// The whole report as text: one screen for a machine of eight GPUs.
#pragma once

#include <string>

#include "screen.hpp"
#include "topo_json.hpp"

namespace ringcomm::doctor {

std::string topo_text(const TopoReport& report, const TextStyle& style);
/// What read_evidence_paths understands, with the command that makes each.
std::string formats_text();

}  // namespace ringcomm::doctor
