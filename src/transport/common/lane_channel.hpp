// SPDX-License-Identifier: Apache-2.0
// Runs batches over the lanes of one channel: checks, posts, waits, copies.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringcomm/transport/transport.hpp"
#include "transport/common/endpoint.hpp"
#include "transport/common/lane.hpp"

namespace ringcomm::inline v0::transport {

class LaneChannel final : public TransportChannel {
 public:
  LaneChannel(std::shared_ptr<Endpoint> endpoint, Endpoint::OpenChannel channel);
  ~LaneChannel() override;

  void set_sink(ChannelSink* sink) override { sink_ = sink; }
  void announce(const Descriptor& descriptor) override;
  Status run(std::span<const TransportOp> batch, Deadline deadline) override;

 private:
  static constexpr std::size_t kOwnSegmentsCached = 4;
  static constexpr std::uint32_t kOperationsPerSweep = 64;
  /// So many operations that need not wait still count as one moment of the record (some 0.2 us).
  static constexpr std::size_t kOperationsPerInstant = 8;

  struct Member {
    int rank = 0;  ///< the communicator's
    Lane lane;
    const HeadLine* head = nullptr;
    const ControlHeader* control = nullptr;
    std::array<OwnSegment, kOwnSegmentsCached> own{};  ///< that this member knows
    std::size_t own_latest = 0;
    std::size_t own_replaced = 0;
    std::shared_ptr<Segment> theirs;  ///< that the last parcel lay in
    std::uint32_t theirs_id = 0;
    std::vector<std::shared_ptr<Segment>> viewed;  ///< earlier ones with views that may not be released yet
    std::size_t next_send = 0;                     ///< cursors of run_group()
    std::size_t next_receive = 0;
  };
  /// A wait: whom for, for what, in which operation, since when.
  struct Wait {
    Member& member;
    Sleeping what;
    const Descriptor& mine;
    Deadline deadline;
    std::int64_t started_ns = 0;
  };

  /// Unmaps what the members have taken back, unless a view of it is out: their memory lives until then.
  void drop_withdrawn();

  Member& member(std::int32_t peer) { return members_[static_cast<std::size_t>(peer)]; }
  int position_of(const Member& m) const { return static_cast<int>(&m - members_.data()); }

  Status check(std::span<const TransportOp> batch);
  Status check(const TransportOp& op);
  Status run_one(const TransportOp& op, Deadline deadline);

  Status offer(const TransportOp& op, Deadline deadline);
  Status take(const TransportOp& op, Deadline deadline);
  Status pull(const TransportOp& op, Deadline deadline);
  Status release(const TransportOp& op);
  Status reclaim(const TransportOp& op, Deadline deadline);

  /// Sends and recvs that stand next to each other: all in flight at once, each lane in order.
  Status run_group(std::span<const TransportOp> group, Deadline deadline);
  /// Moves whatever can move without waiting; awake when nothing of the group is left at this member.
  Status advance(std::span<const TransportOp> group, bool& is_done);
  Status advance_sends(Member& m, std::span<const TransportOp> group);
  Status advance_receives(Member& m, std::span<const TransportOp> group);
  Status look_around(std::span<const TransportOp> group, Deadline deadline, std::int64_t& started_ns);
  Sleeping pending(const Member& m, std::span<const TransportOp> group) const;
  void sleep(std::span<const TransportOp> group, Deadline deadline);

  void post(const TransportOp& op, Member& m, ParcelKind kind, const BlockAddress& address);
  /// Where op.address lies in a registered segment that the member knows; invalid_argument if nowhere.
  Status own_block(const TransportOp& op, Member& m, BlockAddress& address);
  /// Compares what the peer says with `op`, then finds its data.
  Status open_parcel(const TransportOp& op, Member& m, ParcelKind kind, const std::byte*& data);
  Status find_data(const BlockAddress& address, Member& m, const std::byte*& data);
  void copy_in(const TransportOp& op, const std::byte* data);

  /// Only when there is something to wait for.
  Status wait(Member& m, Sleeping what, const Descriptor& mine, Deadline deadline);
  /// Called now and then while a wait lasts: failures, the member's state and head, the deadline.
  Status look_around(Wait& wait);
  Status check_member(const Wait& wait);
  Status check_deadline(Wait& wait);
  bool is_over(const Wait& wait) const;
  void say_awaited(const Member* m);

  Status explain_timeout(const Wait& wait);

  Status fail(Status status, const Member& culprit) {
    return endpoint_->fail(std::move(status), culprit.rank);
  }
  void record(Direction direction, const TransportOp& op, OpState state) {
    if (sink_ == nullptr) return;
    sink_->record_at(direction, op.descriptor, member(op.peer).rank, op.address, state, now_);
  }
  void record_read(std::span<const TransportOp> batch);
  void record_sends_done(std::span<const TransportOp> group);

  std::shared_ptr<Endpoint> endpoint_;
  ControlSegment::Lease lease_;
  ChannelSink* sink_ = nullptr;
  Instant now_;  ///< of the states that are told next; a new one after everything that takes time
  WaitPolicy policy_;
  std::vector<Member> members_;
  int position_ = 0;
  Descriptor entered_{};
  std::uint32_t operations_ = 0;
  LiveCounters counters_;
};

}  // namespace ringcomm::inline v0::transport
