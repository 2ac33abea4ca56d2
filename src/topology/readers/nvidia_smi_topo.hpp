// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi topo -m` and `-mp`: path classes between GPUs and NICs, near CPUs and NUMA nodes.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_topo {

bool looks_like(std::string_view text);
/// One table of one host. A path whose own cell is missing is taken from the symmetric half. corrupt_data: a
/// row or a column has no device name, or more cells than columns.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nvidia_smi_topo
