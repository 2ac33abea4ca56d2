// SPDX-License-Identifier: Apache-2.0
// The table of built-in transports: explicit, since a static library drops static initialisers.
#include "ringcomm/transport/transport.hpp"
#include "transport/inproc/transport.hpp"
#include "transport/shm/transport.hpp"

namespace ringcomm::inline v0 {

TransportFactory inproc_transport() {
  return [] { return std::make_unique<transport::inproc::Transport>(); };
}

TransportFactory shm_transport() {
  return [] { return std::make_unique<transport::shm::Transport>(); };
}

std::vector<TransportFactory> default_transports() { return {inproc_transport(), shm_transport()}; }

}  // namespace ringcomm::inline v0
