// SPDX-License-Identifier: Apache-2.0
// The waits of a LaneChannel, and what they say when nothing comes.
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/common/lane_channel.hpp"
#include "transport/common/wait_report.hpp"

namespace ringcomm::inline v0::transport {
namespace {

/// The member's head; a line that is rewritten in this moment counts as "nothing entered".
Descriptor head_of(const HeadLine& head) {
  Descriptor entered{};
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (try_read_shared(head.entered, entered)) return entered;
  }
  return {};
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
  now_ = {};
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
  Status same = compare(entered_, my_rank, theirs, m.rank);
  return same.is_ok() ? same : fail(std::move(same), m);
}

Status LaneChannel::check_deadline(Wait& wait) {
  say_awaited(&wait.member);
  if (!wait.deadline.is_expired() || is_over(wait)) return {};
  return explain_timeout(wait);
}

Status LaneChannel::explain_timeout(const Wait& wait) {
  std::vector<MemberState> states;
  for (const Member& m : members_) {
    states.push_back({.rank = m.rank,
                      .entered = head_of(*m.head),
                      .awaits = m.head->awaits.load(std::memory_order_acquire)});
  }
  const WaitReport report = explain_wait({.members = states,
                                          .own = static_cast<std::size_t>(position_),
                                          .awaited = static_cast<std::size_t>(position_of(wait.member)),
                                          .has_announced = entered_.op != OpCode::none,
                                          .in = &wait.mine,
                                          .missing_act = missing_act(wait.what),
                                          .waited_ms = (now_ns() - wait.started_ns + 500'000) / 1'000'000});
  // The culprit may have given up in this moment, and no longer says for whom it waited: its reason is the
  // better.
  RINGCOMM_TRY(endpoint_->check_peers(&wait.mine));
  return endpoint_->fail(Status::timeout(report.text), report.culprit);
}

}  // namespace ringcomm::inline v0::transport
