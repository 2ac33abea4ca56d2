// SPDX-License-Identifier: Apache-2.0
// `ibv_devinfo`, also with -v: RDMA devices, ports, GIDs.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::ibv_devinfo {

bool looks_like(std::string_view text);
/// corrupt_data: a device or a port without its id, or not one device.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::ibv_devinfo
