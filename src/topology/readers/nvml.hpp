// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver says of its GPUs.
#pragma once

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/nvml_api.hpp"

namespace ringcomm::inline v0::topology::nvml {

/// GPUs with their NVLinks, peer-to-peer status, PCIe links and health. A query that fails leaves its value
/// unknown and is an entry of `skipped`. Bandwidths of links are left to the cost table.
Reading read(const Api& api);

}  // namespace ringcomm::inline v0::topology::nvml
