// SPDX-License-Identifier: Apache-2.0
// The table of built-in transports: explicit, since a static library drops static initialisers.
#include "transport/registry.hpp"

#include <array>

#include "transport/inproc/transport.hpp"
#include "transport/shm/transport.hpp"

namespace ringcomm::inline v0 {
namespace {

// Else libucs takes over SIGSEGV, SIGHUP and others when it is loaded, and complains about every UCX_
// variable of the user's that no part of it has read yet.
constexpr std::array kUcxVariables{transport::LoadVariable{"UCX_HANDLE_ERRORS", "none"},
                                   transport::LoadVariable{"UCX_DEBUG_SIGNO", "0"},
                                   transport::LoadVariable{"UCX_WARN_UNUSED_ENV_VARS", "n"}};
constexpr transport::Plugin kUcx{"ucx", "RINGCOMM_WITH_UCX", "libucx0", kUcxVariables};
constexpr transport::Plugin kMpi{"mpi", "RINGCOMM_WITH_MPI", "libopenmpi3", {}};

TransportFactory plugin_factory(const transport::Plugin& plugin, transport::PluginUse use) {
  return [&plugin, use] { return transport::make_plugin_transport(plugin, use); };
}

}  // namespace

const transport::Plugin& transport::ucx_plugin() { return kUcx; }

TransportFactory inproc_transport() {
  return [] { return std::make_unique<transport::inproc::Transport>(); };
}

TransportFactory shm_transport() {
  return [] { return std::make_unique<transport::shm::Transport>(); };
}

TransportFactory ucx_transport() { return plugin_factory(kUcx, transport::PluginUse::named); }

TransportFactory mpi_transport() { return plugin_factory(kMpi, transport::PluginUse::named); }

std::vector<TransportFactory> default_transports() {
  return {inproc_transport(), shm_transport(), plugin_factory(kUcx, transport::PluginUse::between_hosts)};
}

TransportFactory transport_named(std::string_view name) {
  if (name == "inproc") return inproc_transport();
  if (name == "shm") return shm_transport();
  if (name == "ucx") return ucx_transport();
  if (name == "mpi") return mpi_transport();
  return nullptr;
}

}  // namespace ringcomm::inline v0
