// SPDX-License-Identifier: Apache-2.0
#include "support/grouped_fake_transport.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "support/grouped_fake_board.hpp"
#include "transport/common/channel_key.hpp"

namespace ringcomm::testing_support {
namespace {

using Board = GroupedFakeTransport::Board;

class GroupedFakeChannel final : public TransportChannel {
 public:
  GroupedFakeChannel(std::shared_ptr<Board> board, std::shared_ptr<Board::Room> room,
                     std::shared_ptr<GroupedFakeTransport::Counted> counted, int position)
      : board_(std::move(board)), room_(std::move(room)), counted_(std::move(counted)), position_(position) {}

  void announce(const Descriptor& descriptor) override { board_->announce(*room_, position_, descriptor); }

  Status run(std::span<const TransportOp> batch, Deadline deadline) override {
    return submit(batch, {}, deadline);
  }

  Status submit(std::span<const TransportOp> batch, StreamView stream, Deadline deadline) override {
    RINGCOMM_TRY(board_->failure());
    if (!stream) return Status::invalid_argument("grouped_fake needs a stream (it is stream-ordered)");
    for (const TransportOp& op : batch) RINGCOMM_TRY(check(op));
    return stream.impl->enqueue(
        [this, batch, deadline] { return board_->run(*room_, position_, batch, deadline, *counted_); },
        deadline);
  }

 private:
  Status check(const TransportOp& op) const {
    if (op.kind != TransportOpKind::send && op.kind != TransportOpKind::recv)
      return Status::invalid_argument("grouped_fake can only send and recv (no direct reads)");
    if (op.peer < 0 || static_cast<std::size_t>(op.peer) >= room_->members.size())
      return Status::invalid_argument(concat("peer ", op.peer, " is no member of the channel"));
    if (op.bytes > 0 && op.address == nullptr) return Status::invalid_argument("null address");
    return {};
  }
  std::shared_ptr<Board> board_;
  std::shared_ptr<Board::Room> room_;
  std::shared_ptr<GroupedFakeTransport::Counted> counted_;
  int position_;
};

}  // namespace

GroupedFakeTransport::GroupedFakeTransport() : counted_(std::make_shared<Counted>()) {}

GroupedFakeTransport::~GroupedFakeTransport() {
  if (board_ != nullptr) board_->leave(rank_);
}

Capabilities GroupedFakeTransport::capabilities() const {
  return {.two_sided = true, .stream_ordered = true, .group_required = true, .progress = Progress::device};
}

Status GroupedFakeTransport::can_serve(const Bootstrap& bootstrap) const {
  if (bootstrap.kind() == GroupKind::threads) return {};
  return Status::not_available("grouped_fake serves threads only");
}

Status GroupedFakeTransport::connect(Bootstrap& bootstrap, const TransportOptions&, Deadline deadline) {
  RINGCOMM_TRY(can_serve(bootstrap));
  static std::atomic<int> connections{0};
  const int mine = connections.fetch_add(1);
  RINGCOMM_TRY_ASSIGN(auto all, bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)), deadline));
  std::string key = "grouped_fake";
  for (const std::byte byte : all.front()) key += concat(".", std::to_integer<int>(byte));
  rank_ = bootstrap.rank();
  const int size = bootstrap.size();
  RINGCOMM_TRY_ASSIGN(auto shared,
                      bootstrap.shared_object(key, [&] { return std::make_shared<Board>(size); }));
  board_ = std::static_pointer_cast<Board>(shared);
  return {};
}

Result<std::unique_ptr<TransportChannel>> GroupedFakeTransport::open_channel(const ChannelKey& key,
                                                                             Deadline deadline) {
  RINGCOMM_TRY(transport::check_channel_key(key, rank_, board_->size()));
  RINGCOMM_TRY_ASSIGN(auto room, board_->open(key, rank_, deadline));
  const auto position = std::find(key.members.begin(), key.members.end(), rank_) - key.members.begin();
  return std::unique_ptr<TransportChannel>(
      std::make_unique<GroupedFakeChannel>(board_, std::move(room), counted_, static_cast<int>(position)));
}

void GroupedFakeTransport::abort(Status reason) {
  if (board_ != nullptr) (void)board_->fail(std::move(reason));
}

Status GroupedFakeTransport::health() const { return board_ == nullptr ? Status() : board_->failure(); }

TransportCounters GroupedFakeTransport::counters() const {
  return board_ == nullptr ? TransportCounters{} : board_->read(*counted_);
}

TransportFactory grouped_fake_transport() {
  return [] { return std::make_unique<GroupedFakeTransport>(); };
}

}  // namespace ringcomm::testing_support
