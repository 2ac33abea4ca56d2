// SPDX-License-Identifier: Apache-2.0
// A meeting place at a fixed address: rank 0 opens it, possibly some ports behind the one that is named.
#include <algorithm>
#include <utility>

#include "bootstrap/hub_threads.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/network_meeting.hpp"
#include "bootstrap/reach.hpp"
#include "bootstrap/tcp_group.hpp"
#include "core/try.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace bootstrap {
namespace {

constexpr int kPortMax = 65535;

bool is_loopback_by_name(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Where rank 0 listens: the named address if it is one of this host's, else all addresses. A name that leads
/// to loopback (as Debian writes a host's own name into /etc/hosts) would keep other hosts out.
Endpoint listening_address(const HostPort& place, const std::vector<Endpoint>& named) {
  if (is_loopback_by_name(place.host)) return named.front();
  const auto all = list_interfaces();
  for (const Endpoint& endpoint : named) {
    if (!endpoint.is_loopback() && interface_with(all, endpoint)) return endpoint;
  }
  return any_address(named.front().family()).with_port(place.port);
}

struct Opened {
  UniqueFd socket;
  Endpoint where;
};

Result<Opened> open_first_free(const Endpoint& first) {
  Status refused;
  for (int port = first.port(); port <= std::min(first.port() + kPortsBehind, kPortMax); ++port) {
    const Endpoint where = first.with_port(port);
    auto socket = listen_at(where);
    if (socket.is_ok()) return Opened{std::move(socket).value(), where};
    if (refused.is_ok() || socket.status().code() != StatusCode::not_available) refused = socket.status();
    if (socket.status().code() != StatusCode::not_available) break;
  }
  return Status(refused.code(), concat(refused.message(), " (rank 0 tried ", kPortsBehind + 1,
                                       " ports for the meeting place)"));
}

/// How a process of rank 0's own host reaches what listens at `where`.
Endpoint own_way_to(const Endpoint& where) {
  const bool is_any = is_same_host(where, any_address(where.family()));
  if (!is_any) return where;
  for (const Interface& interface : list_interfaces()) {
    if (interface.is_loopback && interface.address.family() == where.family())
      return interface.address.with_port(where.port());
  }
  return where;  // connecting to "any" means this host on Linux
}

Result<std::vector<Endpoint>> resolve_until(const HostPort& place, Deadline deadline) {
  while (true) {
    auto named = resolve(place);
    if (named.is_ok() || deadline.is_expired()) return named;
    // The name of a pod or a node that is just coming up may not be known yet.
    wait_ready({}, deadline, 250);
  }
}

}  // namespace

Status check_rank(int rank, int size) {
  if (size >= 1 && size <= kGroupRanksMax && rank >= 0 && rank < size) return {};
  return Status::invalid_argument(concat("rank ", rank, " of ", size, " (sizes from 1 to ", kGroupRanksMax,
                                         ", ranks from 0 to size - 1)"));
}

Result<std::unique_ptr<Bootstrap>> meet_at_address(std::string_view address, std::string_view secret,
                                                   int rank, int size, Deadline deadline) {
  RINGCOMM_TRY(check_rank(rank, size));
  RINGCOMM_TRY_ASSIGN(const HostPort place, parse_host_port(address));
  RINGCOMM_TRY_ASSIGN(const auto wanted, interface_by_name());
  RINGCOMM_TRY_ASSIGN(const auto named, resolve_until(place, deadline));
  const std::string name = concat("tcp://", to_text(place));
  const Secret key = secret_of(secret);
  std::vector<Endpoint> places;
  std::shared_ptr<Hub> hub;
  if (rank == 0) {
    RINGCOMM_TRY_ASSIGN(Opened opened, open_first_free(listening_address(place, named)));
    places = {own_way_to(opened.where)};
    log(LogLevel::info,
        concat("rank 0 of ", size, " opened the meeting place of ", name, " at ", opened.where.to_text()));
    RINGCOMM_TRY_ASSIGN(hub, Hub::create(std::move(opened.socket),
                                         {.secret = key, .name = name, .size = size, .deadline = deadline}));
    RINGCOMM_TRY(start_hub(hub));
  } else {
    for (const Endpoint& endpoint : named) {
      for (int port = place.port; port <= std::min(place.port + kPortsBehind, kPortMax); ++port) {
        places.push_back(endpoint.with_port(port));
      }
    }
  }
  RINGCOMM_TRY_ASSIGN(Reached reached, reach_hub(places, key, make_hello(rank, size), name, deadline));
  RINGCOMM_TRY_ASSIGN(auto group,
                      TcpGroup::create(std::move(reached), rank, size, name, hub, wanted, deadline));
  return std::unique_ptr<Bootstrap>(std::move(group));
}

}  // namespace bootstrap

Result<std::unique_ptr<Bootstrap>> bootstrap_tcp(std::string_view address, std::string_view secret, int rank,
                                                 int size, Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(auto group, bootstrap::meet_at_address(address, secret, rank, size, deadline));
  return join_local(std::move(group), deadline);
}

}  // namespace ringcomm::inline v0
