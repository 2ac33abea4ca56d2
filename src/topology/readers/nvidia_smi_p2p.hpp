// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi topo -p2p r|w|n|a|p`: whether the driver lets each pair of GPUs reach each other's memory.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_p2p {

bool looks_like(std::string_view text);
/// Several tables of one host may follow each other. The capability is known where the command line stands
/// above the table. corrupt_data: a row or a column has no number, or more cells than columns.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nvidia_smi_p2p
