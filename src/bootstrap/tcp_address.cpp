// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::size_t kAddressesMax = 4;
constexpr std::size_t kHostNameMax = 253;
constexpr int kBacklog = 1024;

template <class T>
T as(const Endpoint& endpoint) {
  T address;
  std::memcpy(&address, &endpoint.address, sizeof(address));
  return address;
}

std::span<const std::byte> host_bytes(const Endpoint& endpoint) {
  const auto* all = reinterpret_cast<const std::byte*>(&endpoint.address);
  if (endpoint.family() == AF_INET) return {all + offsetof(sockaddr_in, sin_addr), sizeof(in_addr)};
  return {all + offsetof(sockaddr_in6, sin6_addr), sizeof(in6_addr)};
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  const int port = colon < text.size() ? parse_decimal<int>(text.substr(colon + 1)).value_or(0) : 0;
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  const bool is_plain = std::ranges::all_of(
      host, [](char c) { return c > ' ' && c < 127 && c != '/' && c != '[' && c != ']'; });
  if (host.empty() || host.size() > kHostNameMax || !is_plain || port < 1 || port > 65535 ||
      (!is_bracketed && host.find(':') != std::string_view::npos)) {
    return Status::invalid_argument(
        concat("\"", text.substr(0, 300),
               "\" is no host:port (a name, an IPv4 address or an IPv6 address in "
               "brackets; ports from 1 to 65535)"));
  }
  return HostPort{std::string(host), port};
}

std::string to_text(const HostPort& place) {
  const bool is_ipv6 = place.host.find(':') != std::string::npos;
  return concat(is_ipv6 ? "[" : "", place.host, is_ipv6 ? "]:" : ":", place.port);
}

Endpoint Endpoint::from(const sockaddr* system_address) {
  Endpoint endpoint;
  if (system_address == nullptr) return endpoint;
  if (system_address->sa_family == AF_INET) endpoint.length = sizeof(sockaddr_in);
  if (system_address->sa_family == AF_INET6) endpoint.length = sizeof(sockaddr_in6);
  std::memcpy(&endpoint.address, system_address, endpoint.length);
  return endpoint;
}

int Endpoint::port() const {
  return ntohs(family() == AF_INET ? as<sockaddr_in>(*this).sin_port : as<sockaddr_in6>(*this).sin6_port);
}

Endpoint Endpoint::with_port(int new_port) const {
  Endpoint changed = *this;
  const auto number = htons(static_cast<std::uint16_t>(new_port));
  // Both families keep the port at the same place.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(reinterpret_cast<std::byte*>(&changed.address) + offsetof(sockaddr_in, sin_port), &number,
              sizeof(number));
  return changed;
}

bool Endpoint::is_loopback() const {
  if (family() == AF_INET) return (ntohl(as<sockaddr_in>(*this).sin_addr.s_addr) >> 24) == 127;
  const in6_addr bits = as<sockaddr_in6>(*this).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&bits)) return bits.s6_addr[12] == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&bits);
}

std::string Endpoint::host() const {
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(get(), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return text.data();
}

std::string Endpoint::to_text() const { return bootstrap::to_text(HostPort{host(), port()}); }

bool is_same_host(const Endpoint& a, const Endpoint& b) {
  return a.family() == b.family() && std::ranges::equal(host_bytes(a), host_bytes(b));
}

Result<std::vector<Endpoint>> resolve(const HostPort& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  std::vector<Endpoint> found;
  for (const addrinfo* item = error == 0 ? list : nullptr; item != nullptr; item = item->ai_next) {
    const Endpoint endpoint = Endpoint::from(item->ai_addr);
    const bool is_known =
        std::ranges::any_of(found, [&](const auto& e) { return is_same_host(e, endpoint); });
    if (endpoint.length > 0 && !is_known && found.size() < kAddressesMax) found.push_back(endpoint);
  }
  if (!found.empty()) return found;
  return Status::unreachable(concat("no address is known for host \"", place.host, "\": ",
                                    error != 0 ? ::gai_strerror(error) : "it has none that is IPv4 or IPv6"));
}

Endpoint any_address(int family) {
  sockaddr_in6 address{};  // large enough for either; all zeros means any
  address.sin6_family = static_cast<sa_family_t>(family);
  return Endpoint::from(reinterpret_cast<const sockaddr*>(&address));
}

Result<UniqueFd> listen_at(const Endpoint& where) {
  UniqueFd socket(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  // Connections of an earlier meeting that are still closing do not keep the port.
  if (socket.is_open()) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (socket.is_open() && ::bind(socket.get(), where.get(), where.length) == 0 &&
      ::listen(socket.get(), kBacklog) == 0) {
    return socket;
  }
  const std::string text = concat("cannot listen at ", where.to_text(), ": ", describe_errno(errno));
  return errno == EADDRINUSE ? Status::not_available(text) : Status::unreachable(text);
}

Endpoint local_end(int socket) {
  Endpoint end;
  end.length = sizeof(end.address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&end.address), &end.length) != 0) return {};
  return end;
}

Endpoint far_end(int socket) {
  Endpoint end;
  end.length = sizeof(end.address);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&end.address), &end.length) != 0) return {};
  return end;
}

}  // namespace ringcomm::inline v0::bootstrap
