// SPDX-License-Identifier: Apache-2.0
// Networks live in shared libraries of their own, loaded on first use: libucs installs signal handlers and
// libmpi clashes with another MPI, so that nobody who does not ask for them should have them in the process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ringcomm/transport/message_port.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::transport {

/// An environment variable that must have a value while a plug-in is loaded, unless the user set it.
struct LoadVariable {
  const char* name;
  const char* value;
};

struct Plugin {
  std::string_view name;     ///< "ucx": libringcomm_ucx.so.<SOVERSION>
  std::string_view option;   ///< the CMake option that builds it
  std::string_view package;  ///< what to install on Debian
  std::span<const LoadVariable> variables{};
};

/// libringcomm_<name>.so.<SOVERSION>
std::string plugin_file(std::string_view name);

/// Loads the plug-in from the folder that this library was loaded from, else along the loader's path, and
/// keeps it for the life of the process.
///
/// Errors: not_available names the file, why the loader refused it, the option and the package; or both
/// versions when the plug-in belongs to another one.
Result<MessagePortFactory> load_plugin(const Plugin& plugin);

/// Whether a transport is taken although it was not named: it then serves only groups that span hosts, and
/// nothing is loaded for any other.
enum class PluginUse : std::uint8_t { named, between_hosts };

/// The message transport over the plug-in's port; loads it when asked whether it can serve.
std::unique_ptr<Transport> make_plugin_transport(const Plugin& plugin, PluginUse use);

}  // namespace ringcomm::inline v0::transport
