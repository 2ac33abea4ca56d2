// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi nvlink -s`: the NVLinks of each GPU, active or not.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_nvlink {

bool looks_like(std::string_view text);
/// corrupt_data: a GPU or a link without its number.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nvidia_smi_nvlink
