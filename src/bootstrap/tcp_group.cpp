// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_group.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bootstrap/hub_threads.hpp"
#include "core/try.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::chrono::seconds kAnswerWait{2};
constexpr int kPollMsMax = 1000;

std::optional<Endpoint> address_of(const RosterEntry& entry) {
  Endpoint endpoint;
  const std::size_t bytes = entry.address_bytes;
  if (bytes > entry.address.size() || bytes < sizeof(sockaddr)) return {};
  std::memcpy(&endpoint.address, entry.address.data(), bytes);
  endpoint.length = static_cast<socklen_t>(bytes);
  if (endpoint.family() != AF_INET && endpoint.family() != AF_INET6) return {};
  return endpoint;
}

}  // namespace

TcpGroup::TcpGroup(Reached reached, int rank, int size, std::string name, std::shared_ptr<Hub> own_hub)
    : socket_(std::move(reached.socket)),
      where_(reached.where),
      rank_(rank),
      size_(size),
      name_(std::move(name)),
      own_hub_(std::move(own_hub)),
      reader_(static_cast<std::size_t>(size) * (kContributionBytesMax + sizeof(std::uint32_t))) {}

TcpGroup::~TcpGroup() {
  socket_.reset();
  if (own_hub_) finish(own_hub_);
}

Result<std::unique_ptr<TcpGroup>> TcpGroup::create(Reached reached, int rank, int size, std::string name,
                                                   std::shared_ptr<Hub> own_hub,
                                                   const std::optional<Interface>& wanted,
                                                   Deadline deadline) {
  std::unique_ptr<TcpGroup> group(
      new TcpGroup(std::move(reached), rank, size, std::move(name), std::move(own_hub)));
  RINGCOMM_TRY_ASSIGN(const Bytes payload, group->receive(FrameKind::welcome, deadline));
  const auto roster = read_roster(payload, size);
  if (!roster) {
    return Status::corrupt_data(concat("the meeting place at ", group->name_, " sent a list of ",
                                       payload.size(), " bytes for ", size, " ranks"));
  }
  group->choose_interface(*roster, wanted);
  return group;
}

void TcpGroup::choose_interface(const std::vector<RosterEntry>& roster,
                                const std::optional<Interface>& wanted) {
  const auto all = list_interfaces();
  auto chosen = wanted ? wanted : interface_with(all, local_end(socket_.get()));
  std::string_view reason = wanted ? "by RINGCOMM_SOCKET_IFNAME" : "by the route to the meeting place";
  const std::uint64_t my_tag = host_tag();
  const auto stranger =
      std::ranges::find_if(roster, [&](const RosterEntry& e) { return e.host_tag != my_tag; });
  // The way to a meeting place on this host says nothing about the way to other hosts.
  if (!wanted && stranger != roster.end() &&
      (!chosen || where_.is_loopback() || interface_with(all, where_))) {
    const auto target = address_of(*stranger);
    const auto source = target ? route_to(*target) : std::nullopt;
    const auto found = source ? interface_with(all, *source) : std::nullopt;
    if (found) {
      chosen = found;
      reason = "by the route to another host";
    }
  }
  if (!chosen) return;
  interface_ = chosen->name;
  log(LogLevel::info, concat("rank ", rank_, " of ", size_, " met at ", name_, "; its interface is ",
                             interface_, " (", chosen->address.host(), "), chosen ", reason));
}

Status TcpGroup::fail(Status reason) {
  if (failure_.is_ok()) {
    failure_ = std::move(reason);
    socket_.reset();
  }
  return failure_;
}

Status TcpGroup::ask_who_is_missing(std::int64_t waited_ms) {
  FrameHeader header;
  header.kind = FrameKind::give_up;
  header.sequence = static_cast<std::uint32_t>(std::min<std::int64_t>(waited_ms, 0xFFFFFFFF));
  Outbox box;
  box.push(make_frame(header, {}));
  box.flush(socket_.get());
  const Deadline patience = Deadline::after(kAnswerWait);
  while (!patience.is_expired()) {
    const IoState state = reader_.receive(socket_.get());
    if (state == IoState::done) {
      const FrameHeader answer = reader_.header();
      const Bytes payload = reader_.take();
      if (answer.kind == FrameKind::reason) return read_reason(answer, payload);
    } else if (state != IoState::would_block) {
      break;
    }
    pollfd entry{socket_.get(), POLLIN, 0};
    wait_ready(std::span(&entry, 1), patience, kPollMsMax);
  }
  return Status::timeout(concat("the meeting place at ", name_, " has not answered rank ", rank_, " within ",
                                waited_ms, " ms (is its process stopped?)"));
}

Result<Bytes> TcpGroup::receive(FrameKind due, Deadline deadline) {
  const std::int64_t began_ns = now_ns();
  while (true) {
    const IoState state = reader_.receive(socket_.get());
    if (state == IoState::done) {
      const FrameHeader header = reader_.header();
      Bytes payload = reader_.take();
      if (header.kind == FrameKind::reason) return fail(read_reason(header, payload));
      if (header.kind == due && header.sequence == sequence_) return payload;
    }
    if (state == IoState::closed) {
      return fail(Status::peer_lost(
          concat("the process of the meeting place at ", name_, " died or left while the ranks met")));
    }
    if (state != IoState::would_block) {
      return fail(Status::corrupt_data(
          concat("the meeting place at ", name_, " sent bytes that are not due to rank ", rank_)));
    }
    if (deadline.is_expired()) return fail(ask_who_is_missing((now_ns() - began_ns) / 1'000'000));
    pollfd entry{socket_.get(), POLLIN, 0};
    wait_ready(std::span(&entry, 1), deadline, kPollMsMax);
  }
}

Status TcpGroup::send(const std::shared_ptr<const Bytes>& frame, Deadline deadline) {
  Outbox box;
  box.push(frame);
  while (true) {
    const IoState state = box.flush(socket_.get());
    // A hub that has gone is noticed, with its last words, by the receive that follows.
    if (state != IoState::would_block) return {};
    if (deadline.is_expired()) {
      return fail(Status::timeout(
          concat("the meeting place at ", name_, " does not take what rank ", rank_, " sends")));
    }
    pollfd entry{socket_.get(), POLLOUT, 0};
    wait_ready(std::span(&entry, 1), deadline, kPollMsMax);
  }
}

Result<std::vector<std::vector<std::byte>>> TcpGroup::all_gather(std::span<const std::byte> mine,
                                                                 Deadline deadline) {
  RINGCOMM_TRY(failure_);
  if (mine.size() > kContributionBytesMax) {
    return Status::invalid_argument(concat("all_gather of ", mine.size(), " bytes by rank ", rank_, " (",
                                           kContributionBytesMax, " at most)"));
  }
  FrameHeader header;
  header.kind = FrameKind::contribution;
  header.sequence = ++sequence_;
  RINGCOMM_TRY(send(make_frame(header, mine), deadline));
  RINGCOMM_TRY_ASSIGN(const Bytes payload, receive(FrameKind::gathered, deadline));
  auto all = split_gathered(payload, size_);
  if (all) return *std::move(all);
  return fail(
      Status::corrupt_data(concat("the meeting place at ", name_, " answered all_gather #", sequence_,
                                  " with ", payload.size(), " bytes that are not ", size_, " parts")));
}

std::optional<std::vector<Bytes>> split_gathered(std::span<const std::byte> payload, int size) {
  std::vector<Bytes> parts;
  for (int rank = 0; rank < size; ++rank) {
    std::uint32_t length = 0;
    if (payload.size() < sizeof(length)) return std::nullopt;
    std::memcpy(&length, payload.data(), sizeof(length));
    payload = payload.subspan(sizeof(length));
    if (length > payload.size()) return std::nullopt;
    parts.emplace_back(payload.begin(), payload.begin() + length);
    payload = payload.subspan(length);
  }
  if (!payload.empty()) return std::nullopt;
  return parts;
}

Result<int> TcpGroup::take_socket(int peer) {
  return Status::not_available(concat("ranks that met over a network have no Unix socket to rank ", peer));
}

Result<int> TcpGroup::peer_pid(int peer) const {
  return Status::not_available(
      concat("the process id of rank ", peer, " means nothing here (it may be on another host)"));
}

Result<std::shared_ptr<void>> TcpGroup::shared_object(std::string_view key,
                                                      const std::function<std::shared_ptr<void>()>&) {
  return Status::not_available(concat("processes share no object \"", key, "\""));
}

}  // namespace ringcomm::inline v0::bootstrap
