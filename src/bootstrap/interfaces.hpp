// SPDX-License-Identifier: Apache-2.0
// Which network interface a rank uses: the one that routes to the others, unless RINGCOMM_SOCKET_IFNAME says
// otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/tcp_address.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

struct Interface {
  std::string name;
  Endpoint address;
  bool is_loopback = false;
};

/// Those that are up, one entry per address; link-local IPv6 addresses are left out.
std::vector<Interface> list_interfaces();

/// NCCL's syntax: a comma list of prefixes ("eth,ib"); "=" in front: whole names; "^" in front: all others.
bool is_match(std::string_view pattern, std::string_view name);
/// The first match, loopback last and IPv4 first. invalid_argument names all interfaces when nothing matches.
Result<Interface> choose_interface(const std::vector<Interface>& all, std::string_view pattern);
/// By RINGCOMM_SOCKET_IFNAME; nothing when that is not set.
Result<std::optional<Interface>> interface_by_name();

/// This host's address on the way to `target`; nothing when there is none. Sends nothing.
std::optional<Endpoint> route_to(const Endpoint& target);
/// The interface that has this address; nothing when none has.
std::optional<Interface> interface_with(const std::vector<Interface>& all, const Endpoint& address);
/// The interface that routes outwards; loopback if there is none.
Interface outward_interface(const std::vector<Interface>& all);

}  // namespace ringcomm::inline v0::bootstrap
