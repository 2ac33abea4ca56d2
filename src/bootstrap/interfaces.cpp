// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>

#include "core/small_file.hpp"
#include "core/try.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::string_view kVariable = "RINGCOMM_SOCKET_IFNAME";

bool is_link_local(const Endpoint& address) {
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(&address.address);
  return address.family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&ipv6->sin6_addr);
}

Endpoint loopback_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return Endpoint::from(reinterpret_cast<const sockaddr*>(&address));
}

// Documentation addresses (RFC 5737, 3849): routed like any other outside address, and nobody has them.
std::vector<Endpoint> outside_addresses() {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &ipv4.sin_addr);
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(9);
  ::inet_pton(AF_INET6, "2001:db8::1", &ipv6.sin6_addr);
  return {Endpoint::from(reinterpret_cast<const sockaddr*>(&ipv4)),
          Endpoint::from(reinterpret_cast<const sockaddr*>(&ipv6))};
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    const Endpoint address = Endpoint::from(item->ifa_addr);
    if (address.length == 0 || (item->ifa_flags & IFF_UP) == 0 || is_link_local(address)) continue;
    found.push_back({item->ifa_name, address, (item->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

bool is_match(std::string_view pattern, std::string_view name) {
  const bool excludes = pattern.starts_with('^');
  if (excludes) pattern.remove_prefix(1);
  const bool is_exact = pattern.starts_with('=');
  if (is_exact) pattern.remove_prefix(1);
  const auto pieces = split(pattern, ',');
  const bool is_listed = std::ranges::any_of(
      pieces, [&](std::string_view piece) { return is_exact ? name == piece : name.starts_with(piece); });
  return is_listed != excludes;
}

Result<Interface> choose_interface(const std::vector<Interface>& all, std::string_view pattern) {
  std::vector<Interface> matching;
  std::string names;
  for (const Interface& interface : all) {
    if (is_match(pattern, interface.name)) matching.push_back(interface);
    names += concat(names.empty() ? "" : ", ", interface.name, " (", interface.address.host(), ")");
  }
  const auto rank = [](const Interface& i) {
    return (i.is_loopback ? 2 : 0) + (i.address.family() == AF_INET ? 0 : 1);
  };
  const auto best = std::ranges::min_element(matching, {}, rank);
  if (best != matching.end()) return *best;
  return Status::invalid_argument(
      concat(kVariable, "=", pattern, " matches no interface (there are ", names,
             "; a prefix list, with = in front exact names, with ^ in front what to leave "
             "out)"));
}

Result<std::optional<Interface>> interface_by_name() {
  const auto pattern = env_text(kVariable);
  if (!pattern) return std::optional<Interface>();
  RINGCOMM_TRY_ASSIGN(Interface interface, choose_interface(list_interfaces(), *pattern));
  return std::optional<Interface>(std::move(interface));
}

std::optional<Endpoint> route_to(const Endpoint& target) {
  const UniqueFd socket(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Endpoint somewhere = target.with_port(target.port() == 0 ? 9 : target.port());
  if (!socket.is_open() || ::connect(socket.get(), somewhere.get(), somewhere.length) != 0) return {};
  return local_end(socket.get());
}

std::optional<Interface> interface_with(const std::vector<Interface>& all, const Endpoint& address) {
  const auto at =
      std::ranges::find_if(all, [&](const Interface& i) { return is_same_host(i.address, address); });
  if (at == all.end()) return {};
  return *at;
}

Interface outward_interface(const std::vector<Interface>& all) {
  for (const Endpoint& outside : outside_addresses()) {
    const auto address = route_to(outside);
    const auto found = address ? interface_with(all, *address) : std::nullopt;
    if (found) return *found;
  }
  // No default route: a cluster's own network may still be there.
  const auto other = std::ranges::find_if(all, [](const Interface& i) { return !i.is_loopback; });
  if (other != all.end()) return *other;
  return {"lo", loopback_address(), true};
}

}  // namespace ringcomm::inline v0::bootstrap
