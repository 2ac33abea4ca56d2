// SPDX-License-Identifier: Apache-2.0
// Runs batches of sends and receives over one channel: announces blocks, compares, copies or lets the port
// move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ringcomm/transport/transport.hpp"
#include "transport/message/core.hpp"
#include "transport/message/parcels.hpp"
#include "transport/message/turn.hpp"

namespace ringcomm::inline v0::transport::message {

/// As many blocks of one lane may be announced and not yet taken as plan::kLaneDepth says, and as many more
/// as the receiver takes before it tells.
inline constexpr std::uint32_t kCreditEvery = 4;
inline constexpr std::uint32_t kParcelsInFlightMax = 8 + kCreditEvery;

class MessageChannel final : public TransportChannel {
 public:
  MessageChannel(std::shared_ptr<Core> core, const std::vector<int>& members);
  ~MessageChannel() override;

  void set_sink(ChannelSink* sink) override { sink_ = sink; }
  void announce(const Descriptor& descriptor) override;
  Status run(std::span<const TransportOp> batch, Deadline deadline) override;

  // With the lock, by Core and open.cpp.
  void set_number(std::uint32_t number) { number_ = number; }
  std::uint32_t number() const { return number_; }
  /// The member `rank` has opened the channel, under this number.
  void connect(int rank, std::uint32_t its_number);
  bool has_opened(std::size_t position) const { return lanes_[position].is_open; }
  void deliver(int peer, const Message& message);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  /// Both directions between this rank and one member.
  struct Lane {
    int rank = 0;              ///< the communicator's
    std::uint32_t number = 0;  ///< the member's, of this channel
    bool is_open = false;
    std::uint32_t posted = 0;  ///< parcels to the member
    std::uint32_t taken_by_peer = 0;
    std::uint32_t arrived = 0;  ///< parcels from it
    std::uint32_t taken = 0;
    std::uint32_t taken_told = 0;
    ParcelQueue parcels;
    Descriptor entered{};  ///< the member's head
    std::uint32_t awaits = 0;
    std::size_t next_send = kNone;  ///< cursors of run()
    std::size_t next_receive = kNone;
    int sending = 0;  ///< transfers in flight
    int receiving = 0;
  };
  struct Transfer {
    TransferId id = 0;
    Lane* lane = nullptr;
    const TransportOp* op = nullptr;
  };
  /// A run() that lasts.
  struct Wait {
    std::span<const TransportOp> batch;
    Deadline deadline;
    std::int64_t started_ns = 0;
    std::int64_t tell_ns = 0;  ///< when the members are told for whom this rank waits
  };

  Lane& lane(std::int32_t peer) { return lanes_[static_cast<std::size_t>(peer)]; }
  std::uint32_t position_of(const Lane& l) const { return static_cast<std::uint32_t>(&l - lanes_.data()); }
  bool is_own(const Lane& l) const { return &l == &lanes_[position_]; }

  Status check(std::span<const TransportOp> batch) const;
  Status run_batch(std::span<const TransportOp> batch, Deadline deadline, Turn& turn);
  /// Chains the operations of each lane and direction, and notes the lanes.
  void chain(std::span<const TransportOp> batch);
  /// Tells the port where the next blocks of the lane will go.
  void expect(const Lane& l, std::span<const TransportOp> batch);
  /// Moves whatever can move without waiting; done when nothing of the batch is left.
  Status advance(std::span<const TransportOp> batch, bool& is_done);
  Status advance_sends(Lane& l, std::span<const TransportOp> batch);
  Status advance_receives(Lane& l, std::span<const TransportOp> batch);
  Status advance_transfers();
  Status post(const TransportOp& op, Lane& l);
  Status post_to_self(const TransportOp& op, Lane& l);
  Status receive(const TransportOp& op, Lane& l, const Parcel& parcel);
  void finish_receive(const TransportOp& op);
  Status give_credit(Lane& l);

  void on_parcel(Lane& l, const Message& message);
  void on_credit(Lane& l, std::uint32_t taken);
  /// At arrival: a member in another operation with the same number is found although nobody waits for it.
  void compare_with_entered(const Lane& l, Descriptor theirs);

  /// Called now and then while a wait lasts: failures, the members' state and heads, the deadline.
  Status look_around(Wait& wait);
  Status check_member(const Wait& wait, const Lane& l);
  const TransportOp& waiting_op(const Wait& wait, const Lane& l) const;
  Status explain_timeout(const Wait& wait, const Lane& awaited);
  static std::string_view missing_act(const Lane& l);
  bool is_pending(const Lane& l) const {
    return l.next_send != kNone || l.next_receive != kNone || l.sending + l.receiving > 0;
  }
  /// Tells all members what this rank has entered and for whom it waits (1 + position, 0 nobody).
  void tell(std::uint32_t awaits);

  Status fail(Status status, const Lane& culprit) { return core_->fail(std::move(status), culprit.rank); }
  void record(const TransportOp& op, OpState state) {
    if (sink_ == nullptr) return;
    const auto direction = op.kind == TransportOpKind::send ? Direction::outgoing : Direction::incoming;
    sink_->record(direction, op.descriptor, lane(op.peer).rank, op.address, state);
  }

  std::shared_ptr<Core> core_;
  ChannelSink* sink_ = nullptr;
  std::uint32_t number_ = 0;
  std::vector<Lane> lanes_;
  std::size_t position_ = 0;
  Descriptor entered_{};
  bool is_entered_told_ = true;
  std::uint32_t awaits_told_ = 0;
  std::int64_t told_ns_ = 0;
  std::vector<std::size_t> next_;  ///< per operation of the batch: the next one of its lane and direction
  std::vector<Lane*> active_;      ///< lanes of the batch
  std::vector<Transfer> transfers_;
};

}  // namespace ringcomm::inline v0::transport::message
