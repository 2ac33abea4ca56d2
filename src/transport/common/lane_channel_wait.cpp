// SPDX-License-Identifier: Apache-2.0
// The waits of a LaneChannel, and what they say when nothing comes.
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/common/lane_channel.hpp"

namespace ringcomm::inline v0::transport {
namespace {

std::string place(const Descriptor& d) { return concat(name_of(d.op), " #", d.sequence); }
std::string place_and_step(const Descriptor& d) { return concat(place(d), " step ", d.step); }

/// The member's head; a line that is rewritten in this moment counts as "nothing entered".
Descriptor head_of(const HeadLine& head) {
  Descriptor entered{};
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (try_read_shared(head.entered, entered)) return entered;
  }
  return {};
}

bool has_arrived(const Descriptor& head, const Descriptor& mine) {
  return head.op != OpCode::none && has_reached(head.sequence, mine.sequence);
}

std::string_view missing_act(Sleeping what) {
  switch (what) {
    case Sleeping::on_release:
      return " did not release the block of rank ";
    case Sleeping::on_receive:
      return " did not receive the block of rank ";
    case Sleeping::on_taken:
      return " did not take any of the 8 blocks posted by rank ";
    default:
      return " did not offer its block to rank ";
  }
}

void append_rank(std::string& list, int rank) { list += concat(list.empty() ? "" : ", ", rank); }

}  // namespace

bool LaneChannel::is_over(const Wait& wait) const {
  const Lane& lane = wait.member.lane;
  return has_reached(lane.awaited_word(wait.what).load(std::memory_order_acquire),
                     lane.awaited_epoch(wait.what));
}

Status LaneChannel::wait(Member& m, Sleeping what, const Descriptor& mine, Deadline deadline) {
  Wait wait{.member = m, .what = what, .mine = mine, .deadline = deadline};
  const std::int64_t slice_ns = what == Sleeping::on_taken ? kShortSliceNs : kSliceNsMax;
  Status status = wait_until(
      policy_, [&] { return is_over(wait); }, [&] { return look_around(wait); },
      [&] {
        counters_.sleeps.add(1);
        m.lane.sleep(what, std::min(slice_ns, deadline.remaining_ns()));
      });
  say_awaited(nullptr);
  if (status.is_ok() && what == Sleeping::on_taken) (void)m.lane.has_room();  // refreshes its count
  return status;
}

void LaneChannel::say_awaited(const Member* m) {
  const auto position = m == nullptr ? 0U : static_cast<std::uint32_t>(position_of(*m)) + 1;
  Word& awaits = lease_.block->head.awaits;
  if (awaits.load(std::memory_order_relaxed) != position) awaits.store(position, std::memory_order_release);
}

Status LaneChannel::look_around(Wait& wait) {
  if (wait.started_ns == 0) wait.started_ns = now_ns();
  RINGCOMM_TRY(endpoint_->check_peers(&wait.mine));
  RINGCOMM_TRY(check_member(wait));
  return check_deadline(wait);
}

Status LaneChannel::check_member(const Wait& wait) {
  const Member& m = wait.member;
  const int my_rank = endpoint_->rank();
  if (endpoint_->life_of(m.rank) == Life::closed && !is_over(wait)) {
    return fail(
        Status::peer_lost(concat("rank ", m.rank, " has left (its communicator was destroyed) while rank ",
                                 my_rank, " waited for it in ", place_and_step(wait.mine))),
        m);
  }
  Descriptor theirs = head_of(*m.head);
  if (theirs.op == OpCode::none || entered_.op == OpCode::none || theirs.sequence != entered_.sequence)
    return {};
  theirs.step = entered_.step;
  theirs.block = entered_.block;
  Status same = compare(entered_, my_rank, theirs, m.rank);
  return same.is_ok() ? same : fail(std::move(same), m);
}

Status LaneChannel::check_deadline(Wait& wait) {
  say_awaited(&wait.member);
  if (!wait.deadline.is_expired() || is_over(wait)) return {};
  return explain_timeout(wait);
}

const LaneChannel::Member& LaneChannel::follow_waits(const Member& first) const {
  const Member* last = &first;
  for (std::size_t hop = 0; hop < members_.size(); ++hop) {
    const std::uint32_t awaits = last->head->awaits.load(std::memory_order_acquire);
    if (awaits == 0) return *last;
    if (awaits > members_.size() || static_cast<int>(awaits) == position_ + 1) break;
    last = &members_[awaits - 1];
  }
  return first;  // all wait for each other
}

std::string LaneChannel::arrivals(const Descriptor& mine, const Member& culprit) const {
  std::string arrived;
  std::string missing;
  for (const Member& m : members_) {
    if (position_of(m) == position_ || &m == &culprit) continue;
    append_rank(has_arrived(head_of(*m.head), mine) ? arrived : missing, m.rank);
  }
  std::string text;
  if (!arrived.empty()) text += concat("; arrived: rank ", arrived);
  if (!missing.empty()) text += concat("; also missing: rank ", missing);
  return text;
}

Status LaneChannel::explain_timeout(const Wait& wait) {
  const Member& culprit = follow_waits(wait.member);
  const Descriptor head = head_of(*culprit.head);
  const std::int64_t waited_ms = (now_ns() - wait.started_ns + 500'000) / 1'000'000;
  const int my_rank = endpoint_->rank();
  std::string text = concat("rank ", culprit.rank);
  if (entered_.op != OpCode::none && !has_arrived(head, wait.mine)) {
    text += concat(" did not arrive in ", place(wait.mine), " within ", waited_ms, " ms (");
    text += head.op == OpCode::none ? std::string("it has not entered any operation")
                                    : concat("it is still in ", place(head));
    text += arrivals(wait.mine, culprit) + ")";
  } else if (&culprit == &wait.member) {
    text += concat(missing_act(wait.what), my_rank, " in ", place_and_step(wait.mine), " within ", waited_ms,
                   " ms");
    if (head.op != OpCode::none) text += concat(" (it has entered ", place(head), ")");
  } else {
    text += concat(" does not go on in ", place(wait.mine), ": rank ", my_rank, " waited ", waited_ms,
                   " ms for rank ", wait.member.rank, ", which waits for rank ", culprit.rank,
                   " directly or through others");
  }
  // The culprit may have given up in this moment, and no longer says for whom it waited: its reason is the
  // better.
  RINGCOMM_TRY(endpoint_->check_peers(&wait.mine));
  return fail(Status::timeout(std::move(text)), culprit);
}

}  // namespace ringcomm::inline v0::transport
