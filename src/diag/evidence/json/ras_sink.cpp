// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/ras_sink.hpp"

#include <algorithm>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kTextMax = 256;
constexpr std::size_t kMembersMax = std::size_t{1} << 20;
constexpr std::size_t kCountsMax = 64;
constexpr std::int64_t kRanksMax = 1 << 24;
constexpr std::int64_t kInProgress = 7;  // ncclInProgress

std::string text_of(const Scalar& value) {
  if (value.kind == Scalar::Kind::text) return std::string(value.text.substr(0, kTextMax));
  const auto integer = value.as_integer();
  return integer ? concat(*integer) : std::string();
}

bool is_address(std::string_view host) {
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

RasSink::Place RasSink::inside() const {
  switch (place()) {
    case Place::report:
      return key_ == "communicators" ? Place::communicators : Place::skipped;
    case Place::communicators:
      return Place::communicator;
    case Place::communicator:
      if (key_ == "ranks") return Place::ranks;
      return key_ == "missing_ranks" ? Place::missing : Place::skipped;
    case Place::ranks:
      return Place::rank;
    case Place::missing:
      return Place::missing_rank;
    case Place::rank:
      if (key_ == "status") return Place::rank_status;
      return key_ == "collective_counts" ? Place::counts : Place::skipped;
    case Place::missing_rank:
      return key_ == "status" ? Place::missing_status : Place::skipped;
    default:
      return Place::skipped;
  }
}

bool RasSink::begin(bool is_dict) {
  Place next = Place::skipped;
  if (!stack_.empty()) {
    next = inside();
  } else if (is_dict) {
    next = Place::report;
  }
  if (next == Place::communicator) {
    hash_.clear();
    size_.reset();
    missing_count_.reset();
    members_.clear();
  }
  if (next == Place::rank || next == Place::missing_rank) {
    if (members_.size() >= kMembersMax) return false;
    members_.emplace_back().is_missing = next == Place::missing_rank;
  }
  stack_.push_back(next);
  return true;
}

bool RasSink::end() {
  const Place done = place();
  stack_.pop_back();
  if (done == Place::communicator) append_communicator();
  return facts_ < file_.limits.facts_per_file;
}

bool RasSink::key(std::string_view name) {
  key_.assign(name.substr(0, kTextMax));
  return true;
}

bool RasSink::scalar(const Scalar& value) {
  switch (place()) {
    case Place::report:
      if (key_ == "nccl_version") {
        evidence_.events.push_back({.kind = EventKind::version,
                                    .detail = text_of(value),
                                    .snapshot = snapshot_,
                                    .source = {file_.index, 0}});
        ++facts_;
      }
      break;
    case Place::communicator:
      if (key_ == "hash") hash_ = text_of(value);
      if (key_ == "size") size_ = value.as_integer();
      if (key_ == "missing_ranks_count") missing_count_ = value.as_integer();
      break;
    case Place::rank:
    case Place::missing_rank:
    case Place::rank_status:
    case Place::missing_status:
      member_scalar(value);
      break;
    case Place::counts:
      if (const auto count = value.as_integer(); count && members_.back().launches.size() < kCountsMax)
        members_.back().launches[key_] = *count;
      break;
    default:
      break;
  }
  return true;
}

void RasSink::member_scalar(const Scalar& value) {
  Member& member = members_.back();
  const std::int64_t integer = value.as_integer().value_or(kUnknown);
  const bool is_rank = integer >= 0 && integer < kRanksMax;
  if (key_ == "rank") member.who.group_rank = is_rank ? static_cast<int>(integer) : kUnknown;
  if (key_ == "cuda_dev" && is_rank) member.who.gpu = static_cast<int>(integer);
  if (key_ == "pid") member.who.pid = integer;
  if (key_ == "host") {
    member.who.host = text_of(value);
    if (is_address(member.who.host)) member.who.address = member.who.host;
  }
  if (key_ == "init_state") member.init_state = integer;
  if (key_ == "async_error") member.async_error = integer;
  if (key_ == "abort_flag") member.is_aborted = value.is_true();
  if (key_ == "finalize_called" || key_ == "destroy_flag")
    member.is_finalized = member.is_finalized || value.is_true();
  if (key_ == "unresponsive") member.is_unresponsive = value.is_true();
  if (key_ == "considered_dead") member.is_dead = value.is_true();
}

void RasSink::append_communicator() {
  ++communicators_;
  const bool has_size = size_ && *size_ > 0 && *size_ < kRanksMax;
  const auto is_outside = [&](const Member& member) {
    return member.who.group_rank == kUnknown || (has_size && member.who.group_rank >= *size_);
  };
  // A size, ranks and counts that deny each other are no data.
  if (!has_size || std::ranges::any_of(members_, is_outside) ||
      static_cast<std::int64_t>(members_.size()) > *size_ || missing_count_.value_or(0) > *size_) {
    ++garbage_;
    return;
  }
  evidence_.groups.push_back({.key = hash_,
                              .name = hash_,
                              .unique_id = hash_,
                              .size = static_cast<int>(*size_),
                              .source = {file_.index, 0}});
  ++facts_;
  for (const Member& member : members_) append_member(member, hash_);
}

void RasSink::append_member(const Member& member, const std::string& group) {
  if (snapshot_ == 0) evidence_.identities.push_back(member.who);
  if (!member.is_missing) {
    evidence_.counters.push_back({.who = member.who,
                                  .group = group,
                                  .launches = member.launches,
                                  .snapshot = snapshot_,
                                  .source = {file_.index, 0}});
    ++facts_;
    if (member.async_error != 0) {
      if (member.async_error != kInProgress)
        append_event(EventKind::async_error, member, group, member.async_error, "async_error");
    }
    if (member.is_aborted) append_event(EventKind::aborted, member, group, 0, "abort_flag");
    if (member.init_state != 0)
      append_event(EventKind::init_start, member, group, member.init_state, "init_state");
    if (member.is_finalized) append_event(EventKind::other, member, group, 0, "finalize or destroy called");
    return;
  }
  if (member.is_dead) {
    append_event(EventKind::considered_dead, member, group, 0, "considered_dead");
  } else if (member.is_unresponsive) {
    append_event(EventKind::unresponsive, member, group, 0, "unresponsive");
  } else {
    append_event(EventKind::missing_process, member, group, 0, "missing");
  }
}

void RasSink::append_event(EventKind kind, const Member& member, const std::string& group, std::int64_t code,
                           std::string detail) {
  std::string text = concat("RAS: rank ", member.who.group_rank, " of ", group, " (process ", member.who.pid,
                            " on ", member.who.host, "): ", detail);
  if (code != 0) text += concat(" ", code);
  evidence_.events.push_back({.kind = kind,
                              .who = member.who,
                              .group = group,
                              .code = code,
                              .detail = std::move(detail),
                              .text = std::move(text),
                              .snapshot = snapshot_,
                              .source = {file_.index, 0}});
  ++facts_;
}

}  // namespace ringcomm::inline v0::diag
