// SPDX-License-Identifier: Apache-2.0
// TCP addresses as people write them and as the system takes them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

struct HostPort {
  std::string host;
  int port = 0;
};
/// "host:port", "1.2.3.4:5", "[::1]:5"; ports from 1 to 65535.
Result<HostPort> parse_host_port(std::string_view text);
std::string to_text(const HostPort& place);

/// An IPv4 or IPv6 address with a port.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;

  static Endpoint from(const sockaddr* system_address);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  int family() const { return address.ss_family; }
  int port() const;
  Endpoint with_port(int new_port) const;
  bool is_loopback() const;
  /// "10.0.0.1", "fe80::1"
  std::string host() const;
  /// "10.0.0.1:5", "[::1]:5"
  std::string to_text() const;
};
bool is_same_host(const Endpoint& a, const Endpoint& b);

/// All addresses of a name, at most a few, without duplicates. unreachable when the name has none.
Result<std::vector<Endpoint>> resolve(const HostPort& place);
/// Every address of this host for the family.
Endpoint any_address(int family);

/// Non-blocking, close-on-exec. not_available when the port is taken, unreachable for other reasons.
Result<UniqueFd> listen_at(const Endpoint& where);
Endpoint local_end(int socket);
Endpoint far_end(int socket);

}  // namespace ringcomm::inline v0::bootstrap
