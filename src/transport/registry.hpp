// SPDX-License-Identifier: Apache-2.0
// Transports by the names that RINGCOMM_TRANSPORTS knows.
#pragma once

#include <string_view>

#include "ringcomm/transport/transport.hpp"
#include "transport/plugin.hpp"

namespace ringcomm::inline v0 {

inline constexpr std::string_view kTransportNames = "inproc, shm, ucx and mpi";

namespace transport {
const Plugin& ucx_plugin();
}

/// Empty for a name that no transport has.
TransportFactory transport_named(std::string_view name);

}  // namespace ringcomm::inline v0
