// SPDX-License-Identifier: Apache-2.0
// Health and modes of one GPU.
#pragma once

#include "topology/readers/nvml_asker.hpp"

namespace ringcomm::inline v0::topology::nvml {

GpuState read_state(const Api& api, Device device, const Asker& ask);

}  // namespace ringcomm::inline v0::topology::nvml
