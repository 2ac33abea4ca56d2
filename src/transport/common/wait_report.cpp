// SPDX-License-Identifier: Apache-2.0
#include "transport/common/wait_report.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport {
namespace {

std::string place(const Descriptor& d) { return concat(name_of(d.op), " #", d.sequence); }

bool has_arrived(const Descriptor& entered, const Descriptor& mine) {
  return entered.op != OpCode::none && static_cast<std::int32_t>(entered.sequence - mine.sequence) >= 0;
}

void append_rank(std::string& list, int rank) { list += concat(list.empty() ? "" : ", ", rank); }

std::size_t follow_waits(const WaitFacts& facts) {
  std::size_t last = facts.awaited;
  for (std::size_t hop = 0; hop < facts.members.size(); ++hop) {
    const std::size_t awaits = facts.members[last].awaits;
    if (awaits == 0) return last;
    if (awaits > facts.members.size() || awaits - 1 == facts.own) break;
    last = awaits - 1;
  }
  return facts.awaited;  // all wait for each other
}

std::string arrivals(const WaitFacts& facts, std::size_t culprit) {
  std::string arrived;
  std::string missing;
  for (std::size_t i = 0; i < facts.members.size(); ++i) {
    if (i == facts.own || i == culprit) continue;
    const MemberState& member = facts.members[i];
    append_rank(has_arrived(member.entered, *facts.in) ? arrived : missing, member.rank);
  }
  std::string text;
  if (!arrived.empty()) text += concat("; arrived: rank ", arrived);
  if (!missing.empty()) text += concat("; also missing: rank ", missing);
  return text;
}

}  // namespace

std::string place_and_step(const Descriptor& d) { return concat(place(d), " step ", d.step); }

WaitReport explain_wait(const WaitFacts& facts) {
  const std::size_t last = follow_waits(facts);
  const MemberState& culprit = facts.members[last];
  const Descriptor& entered = culprit.entered;
  const Descriptor& mine = *facts.in;
  const int my_rank = facts.members[facts.own].rank;
  std::string text = concat("rank ", culprit.rank);
  if (facts.has_announced && !has_arrived(entered, mine)) {
    text += concat(" did not arrive in ", place(mine), " within ", facts.waited_ms, " ms (");
    text += entered.op == OpCode::none ? std::string("it has not entered any operation")
                                       : concat("it is still in ", place(entered));
    text += arrivals(facts, last) + ")";
  } else if (last == facts.awaited) {
    text +=
        concat(facts.missing_act, my_rank, " in ", place_and_step(mine), " within ", facts.waited_ms, " ms");
    if (entered.op != OpCode::none) text += concat(" (it has entered ", place(entered), ")");
  } else {
    text += concat(" does not go on in ", place(mine), ": rank ", my_rank, " waited ", facts.waited_ms,
                   " ms for rank ", facts.members[facts.awaited].rank, ", which waits for rank ",
                   culprit.rank, " directly or through others");
  }
  return {.text = std::move(text), .culprit = culprit.rank};
}

}  // namespace ringcomm::inline v0::transport
