// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule/call_text.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::size_t kShownRanks = 8;

std::string list_text(std::span<const int> ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShownRanks); ++i)
    text += concat(i == 0 ? "" : ", ", ranks[i]);
  return text;
}

std::span<const int> members_of(const CallSchedule& schedule, const ScheduledCall& call) {
  if (!call.members.empty()) return call.members;
  return schedule.groups[static_cast<std::size_t>(call.group)].members;
}

bool is_message(CallKind kind) { return kind == CallKind::send || kind == CallKind::recv; }

/// Each rank may pass its own amount.
bool has_own_sizes(std::string_view op) { return op.starts_with("all_to_all") || op.ends_with("_v"); }

std::string against(std::string_view what, const std::string& a, const std::string& b) {
  return a == b || a.empty() || b.empty() ? "" : concat(what, a, " against ", b);
}

}  // namespace

std::string_view name_of(CallKind kind) {
  switch (kind) {
    case CallKind::collective:
      return "collective";
    case CallKind::send:
      return "send";
    case CallKind::recv:
      return "recv";
    case CallKind::create:
      return "create";
    case CallKind::sync:
      return "sync";
    case CallKind::stream_wait:
      return "stream_wait";
  }
  return "unknown";
}

std::string_view name_of(ScheduleFault fault) {
  switch (fault) {
    case ScheduleFault::none:
      return "none";
    case ScheduleFault::mismatch:
      return "mismatch";
    case ScheduleFault::missing_call:
      return "missing_call";
    case ScheduleFault::deadlock:
      return "deadlock";
  }
  return "unknown";
}

int number_of(const CallSchedule& schedule, CallRef ref) {
  const ScheduledCall& call = call_at(schedule, ref);
  int number = 0;
  for (std::int32_t i = 0; i <= ref.index; ++i) {
    const ScheduledCall& other = call_at(schedule, {ref.rank, i});
    const bool is_like = other.group == call.group && other.kind == call.kind &&
                         (!is_message(call.kind) || other.peer == call.peer);
    number += is_like ? 1 : 0;
  }
  return number;
}

std::string describe(const CallSchedule& schedule, CallRef ref) {
  const ScheduledCall& call = call_at(schedule, ref);
  std::string detail;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) detail += concat(detail.empty() ? "" : ", ", text);
  };
  std::string head;
  if (call.group != kNone) {
    const std::string& name = schedule.groups[static_cast<std::size_t>(call.group)].name;
    head = call.kind == CallKind::create ? concat("the creation of ", name)
                                         : concat(name, " #", number_of(schedule, ref));
  } else {
    head = call.kind == CallKind::sync ? "a host synchronisation" : "a wait between streams";
  }
  if (call.kind == CallKind::collective) add(call.op);
  if (call.kind == CallKind::send) add(concat("send to ", call.peer));
  if (call.kind == CallKind::recv) add(concat("recv from ", call.peer));
  if (call.bytes)
    add(concat(*call.bytes, call.dtype.empty() ? " bytes" : " bytes of ", call.dtype));
  else
    add(call.dtype);
  add(call.reduce_op);
  add(call.at);
  return detail.empty() ? head : concat(head, " (", detail, ")");
}

std::string ranks_text(std::span<const int> ranks) {
  if (ranks.size() == 1) return concat("rank ", ranks[0]);
  const std::string more =
      ranks.size() > kShownRanks ? concat(" and ", ranks.size() - kShownRanks, " more") : "";
  return concat("ranks ", list_text(ranks), more);
}

std::string members_text(std::span<const int> ranks) {
  const std::string more =
      ranks.size() > kShownRanks ? concat(", and ", ranks.size() - kShownRanks, " more") : "";
  return concat("[", list_text(ranks), more, "]");
}

std::string difference(const CallSchedule& schedule, CallRef a, CallRef b) {
  const ScheduledCall& mine = call_at(schedule, a);
  const ScheduledCall& theirs = call_at(schedule, b);
  if (mine.kind == CallKind::create) {
    const std::string groups = against("", schedule.groups[static_cast<std::size_t>(mine.group)].name,
                                       schedule.groups[static_cast<std::size_t>(theirs.group)].name);
    if (!groups.empty()) return groups;
    const auto my_members = members_of(schedule, mine);
    const auto their_members = members_of(schedule, theirs);
    return std::ranges::equal(my_members, their_members)
               ? ""
               : concat("members ", members_text(my_members), " against ", members_text(their_members));
  }
  if (!is_message(mine.kind)) {
    if (const auto ops = against("", mine.op, theirs.op); !ops.empty()) return ops;
    if (const auto roots = against("root ", mine.root, theirs.root); !roots.empty()) return roots;
  }
  if (const auto types = against("", mine.dtype, theirs.dtype); !types.empty()) return types;
  if (const auto ops = against("", mine.reduce_op, theirs.reduce_op); !ops.empty()) return ops;
  const bool compares_bytes = mine.bytes && theirs.bytes && !has_own_sizes(mine.op);
  if (compares_bytes && *mine.bytes != *theirs.bytes)
    return concat(*mine.bytes, " bytes against ", *theirs.bytes);
  return "";
}

}  // namespace ringcomm::inline v0::plan
