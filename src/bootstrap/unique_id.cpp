// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <utility>

#include "bootstrap/hex.hpp"
#include "bootstrap/hub_threads.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/network_meeting.hpp"
#include "bootstrap/reach.hpp"
#include "bootstrap/tcp_group.hpp"
#include "core/try.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace bootstrap {
namespace {

/// What the 128 bytes are. Addresses as on the wire, the rest as in memory.
struct IdFields {
  std::uint32_t magic = kMagic;
  std::uint16_t family = 0;  ///< 4 or 6
  std::uint16_t port = 0;
  std::array<std::byte, 16> address{};
  std::uint64_t host_tag = 0;  ///< of the host whose loopback it is, if it is loopback
  Secret secret{};
  std::array<std::byte, 56> reserved{};
  std::uint64_t checksum = 0;

  static constexpr std::uint32_t kMagic = 0x31494352;  // "RCI1"
};
static_assert(sizeof(IdFields) == UniqueId::kBytes);

std::uint64_t checksum_of(const IdFields& fields) {
  return keyed_hash(1, 2, std::as_bytes(std::span(&fields, 1)).first(offsetof(IdFields, checksum)));
}

UniqueId encode(const Endpoint& where, const Secret& secret) {
  IdFields fields;
  fields.family = where.family() == AF_INET ? 4 : 6;
  fields.port = static_cast<std::uint16_t>(where.port());
  if (fields.family == 4) {
    std::memcpy(fields.address.data(), &reinterpret_cast<const sockaddr_in*>(&where.address)->sin_addr, 4);
  } else {
    std::memcpy(fields.address.data(), &reinterpret_cast<const sockaddr_in6*>(&where.address)->sin6_addr, 16);
  }
  fields.host_tag = host_tag();
  fields.secret = secret;
  fields.checksum = checksum_of(fields);
  UniqueId id;
  std::memcpy(id.bytes.data(), &fields, sizeof(fields));
  return id;
}

Result<IdFields> decode(const UniqueId& id) {
  IdFields fields;
  std::memcpy(&fields, id.bytes.data(), sizeof(fields));
  if (fields.magic == IdFields::kMagic && (fields.family == 4 || fields.family == 6) &&
      fields.checksum == checksum_of(fields)) {
    return fields;
  }
  return Status::invalid_argument("the 128 bytes are no unique id of this version (were they copied whole?)");
}

Endpoint endpoint_of(const IdFields& fields) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  std::memcpy(&ipv4.sin_addr, fields.address.data(), sizeof(ipv4.sin_addr));
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  std::memcpy(&ipv6.sin6_addr, fields.address.data(), sizeof(ipv6.sin6_addr));
  const auto* address = fields.family == 4 ? reinterpret_cast<const sockaddr*>(&ipv4)
                                           : reinterpret_cast<const sockaddr*>(&ipv6);
  return Endpoint::from(address).with_port(fields.port);
}

Result<UniqueId> open_meeting_place() {
  RINGCOMM_TRY_ASSIGN(const std::int64_t timeout_ms, env_milliseconds("RINGCOMM_TIMEOUT"));
  RINGCOMM_TRY_ASSIGN(const auto wanted, interface_by_name());
  const Interface interface = wanted ? *wanted : outward_interface(list_interfaces());
  RINGCOMM_TRY_ASSIGN(UniqueFd listener, listen_at(interface.address.with_port(0)));
  const Endpoint where = local_end(listener.get());
  log(LogLevel::info, concat("the meeting place of a unique id is at ", where.to_text(), ", interface ",
                             interface.name, wanted ? " (RINGCOMM_SOCKET_IFNAME)" : " (it routes outwards)"));
  const Secret secret = make_secret();
  RINGCOMM_TRY_ASSIGN(
      auto hub,
      Hub::create(std::move(listener), {.secret = secret,
                                        .name = concat("tcp://", where.to_text()),
                                        .size = 0,
                                        .deadline = Deadline::after(std::chrono::milliseconds(timeout_ms))}));
  RINGCOMM_TRY(start_hub(std::move(hub)));
  return encode(where, secret);
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> meet_by_id(const UniqueId& id, int rank, int size, Deadline deadline) {
  RINGCOMM_TRY(check_rank(rank, size));
  RINGCOMM_TRY_ASSIGN(const IdFields fields, decode(id));
  RINGCOMM_TRY_ASSIGN(const auto wanted, interface_by_name());
  const Endpoint where = endpoint_of(fields);
  const std::string name = concat("tcp://", where.to_text());
  if (where.is_loopback() && fields.host_tag != host_tag()) {
    return Status::unreachable(concat("the unique id's meeting place ", name,
                                      " is the loopback of another host, rank ", rank,
                                      " cannot get there. Set RINGCOMM_SOCKET_IFNAME where the id is made?"));
  }
  RINGCOMM_TRY_ASSIGN(Reached reached,
                      reach_hub({where}, fields.secret, make_hello(rank, size), name, deadline));
  RINGCOMM_TRY_ASSIGN(auto group, TcpGroup::create(std::move(reached), rank, size, name,
                                                   find_hub(fields.secret), wanted, deadline));
  return std::unique_ptr<Bootstrap>(std::move(group));
}

}  // namespace bootstrap

std::string UniqueId::to_hex() const { return bootstrap::hex_of(bytes); }

Result<UniqueId> UniqueId::from_hex(std::string_view text) {
  const auto bytes = bootstrap::bytes_from_hex<kBytes>(text);
  if (!bytes) {
    return Status::invalid_argument(concat("a unique id has ", 2 * kBytes,
                                           " hexadecimal digits, this text of ", text.size(), " has not"));
  }
  UniqueId id;
  id.bytes = *bytes;
  RINGCOMM_TRY(bootstrap::decode(id).status());
  return id;
}

Result<UniqueId> create_unique_id() { return bootstrap::open_meeting_place(); }

Result<std::unique_ptr<Bootstrap>> bootstrap_unique_id(const UniqueId& id, int rank, int size,
                                                       Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(auto group, bootstrap::meet_by_id(id, rank, size, deadline));
  return join_local(std::move(group), deadline);
}

}  // namespace ringcomm::inline v0
