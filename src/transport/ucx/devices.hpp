// SPDX-License-Identifier: Apache-2.0
// Which network devices UCX may use: the interface that the ranks met on, and the RDMA ports behind it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::transport::ucx {

/// A value for UCX_NET_DEVICES: "eth0", or "mlx5_0:1,ib0" where ib0 is a port of mlx5_0.
std::string devices_of(std::string_view interface, const std::filesystem::path& sysfs = "/sys/class/net");

/// For the group: the interface that its bootstrap chose; loopback where all ranks share a host; "" leaves
/// the choice to UCX.
std::string devices_for(const Bootstrap& bootstrap);

}  // namespace ringcomm::inline v0::transport::ucx
