// SPDX-License-Identifier: Apache-2.0
// What the library and its plug-ins (libringcomm_ucx, libringcomm_mpi) agree on.
//
// A plug-in exports, with C linkage and default visibility:
//   const int ringcomm_<name>_abi = ringcomm::transport::kPluginAbi;
//   ringcomm::MessagePort* ringcomm_<name>_port_v0();   // made with new; null when memory is short
#pragma once

#include "ringcomm/version.hpp"

namespace ringcomm::inline v0::transport {

/// Until 1.0 any two versions may differ in layout, so that a plug-in fits its own version only. 102 is
/// 0.1.2.
constexpr int kPluginAbi =
    RINGCOMM_VERSION_MAJOR * 10'000 + RINGCOMM_VERSION_MINOR * 100 + RINGCOMM_VERSION_PATCH;

}  // namespace ringcomm::inline v0::transport
