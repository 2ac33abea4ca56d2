// SPDX-License-Identifier: Apache-2.0
// What the library looks up after it has loaded this plug-in.
#include <new>

#include "transport/plugin_abi.hpp"
#include "transport/ucx/port.hpp"

extern "C" {
[[gnu::visibility("default")]] extern const int ringcomm_ucx_abi;
const int ringcomm_ucx_abi = ringcomm::transport::kPluginAbi;

[[gnu::visibility("default")]] ringcomm::MessagePort* ringcomm_ucx_port_v0() {
  return new (std::nothrow) ringcomm::transport::ucx::UcxPort();
}
}
