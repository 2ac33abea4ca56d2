// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi nvlink -R`: where each NVLink of each GPU ends.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_nvlink_remote {

bool looks_like(std::string_view text);
/// Also adds up the links of each GPU by target. What a target is (GPU, switch) this output does not say.
/// corrupt_data: a GPU, a link or a remote device without its id.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nvidia_smi_nvlink_remote
