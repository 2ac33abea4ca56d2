// SPDX-License-Identifier: Apache-2.0
// What the library looks up after it has loaded this plug-in.
#include <new>

#include "transport/mpi/port.hpp"
#include "transport/plugin_abi.hpp"

extern "C" {
[[gnu::visibility("default")]] extern const int ringcomm_mpi_abi;
const int ringcomm_mpi_abi = ringcomm::transport::kPluginAbi;

[[gnu::visibility("default")]] ringcomm::MessagePort* ringcomm_mpi_port_v0() {
  return new (std::nothrow) ringcomm::transport::mpi::MpiPort();
}
}
