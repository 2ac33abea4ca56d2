// SPDX-License-Identifier: Apache-2.0
#include "comm/channel_gather.hpp"

#include <cstring>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::comm {
namespace {

class Gather {
 public:
  Gather(Channel& channel, std::span<std::byte> all, Descriptor descriptor, Deadline deadline)
      : channel_(channel),
        all_(all),
        bytes_(all.size() / static_cast<std::size_t>(channel.size())),
        descriptor_(descriptor),
        deadline_(deadline) {}

  /// In place blocks are copied while their owners hold them; messages come into blocks of the arena.
  Status run(std::span<const std::byte> mine) {
    RINGCOMM_TRY_ASSIGN(const ArenaBlock own, channel_.allocate(bytes_));
    if (bytes_ > 0) std::memcpy(own.data(), mine.data(), bytes_);
    channel_.enter(descriptor_, deadline_, "split");
    place(channel_.rank(), own.data());
    return channel_.capabilities().direct_read ? read_in_place(own.data()) : exchange(own.data());
  }

 private:
  std::vector<TransportOp> to_all(TransportOpKind kind, std::byte* address) const {
    std::vector<TransportOp> ops;
    for (int peer = 0; peer < channel_.size(); ++peer) {
      if (peer == channel_.rank()) continue;
      TransportOp op{.kind = kind, .peer = peer, .address = address, .bytes = bytes_};
      op.descriptor = descriptor_;
      const bool is_theirs =
          kind == TransportOpKind::take || kind == TransportOpKind::release || kind == TransportOpKind::recv;
      op.descriptor.bytes = bytes_;
      op.descriptor.block = is_theirs ? peer : channel_.rank();
      ops.push_back(op);
    }
    return ops;
  }

  Status read_in_place(std::byte* own) {
    std::vector<RemoteView> views(static_cast<std::size_t>(channel_.size()));
    std::vector<TransportOp> batch = to_all(TransportOpKind::offer, own);
    for (TransportOp& take : to_all(TransportOpKind::take, nullptr)) {
      take.view = &views[static_cast<std::size_t>(take.peer)];
      batch.push_back(take);
    }
    RINGCOMM_TRY(submit(batch));
    for (const TransportOp& op : batch) {
      if (op.kind == TransportOpKind::take) place(op.peer, op.view->data);
    }
    batch = to_all(TransportOpKind::release, nullptr);
    const std::vector<TransportOp> reclaims = to_all(TransportOpKind::reclaim, nullptr);
    batch.insert(batch.end(), reclaims.begin(), reclaims.end());
    return submit(batch);
  }

  Status exchange(std::byte* own) {
    RINGCOMM_TRY_ASSIGN(const ArenaBlock inbox, channel_.allocate(all_.size()));
    std::vector<TransportOp> batch = to_all(TransportOpKind::send, own);
    for (TransportOp& receive : to_all(TransportOpKind::recv, nullptr)) {
      receive.address = inbox.data() + static_cast<std::size_t>(receive.peer) * bytes_;
      batch.push_back(receive);
    }
    RINGCOMM_TRY(submit(batch));
    for (const TransportOp& op : batch) {
      if (op.kind == TransportOpKind::recv) place(op.peer, op.address);
    }
    return {};
  }

  Status submit(std::span<const TransportOp> batch) {
    if (batch.empty()) return {};
    if (!channel_.capabilities().stream_ordered) return channel_.transport().run(batch, deadline_);
    RINGCOMM_TRY_ASSIGN(const StreamView stream, channel_.comm_stream());
    RINGCOMM_TRY(channel_.transport().submit(batch, stream, deadline_));
    return stream.impl->synchronize(deadline_);
  }

  void place(int member, const std::byte* from) {
    if (bytes_ > 0) std::memcpy(all_.data() + static_cast<std::size_t>(member) * bytes_, from, bytes_);
  }

  Channel& channel_;
  std::span<std::byte> all_;
  std::size_t bytes_;
  Descriptor descriptor_;
  Deadline deadline_;
};

}  // namespace

Status gather_bytes(Channel& channel, std::span<const std::byte> mine, std::span<std::byte> all,
                    Deadline deadline) {
  if (all.size() != mine.size() * static_cast<std::size_t>(channel.size())) {
    return Status::invalid_argument(concat("gather of ", mine.size(), " bytes from ", channel.size(),
                                           " members into ", all.size(), " bytes"));
  }
  RINGCOMM_TRY_ASSIGN(const OperationScope scope,
                      channel.begin(OpCode::split, DType::uint8, ReduceOp::none, 0, {}, Announce::later));
  Status status = Gather(channel, all, scope.descriptor(), deadline).run(mine);
  channel.leave(scope.descriptor(), status.code());
  return status.is_ok() ? status : channel.fail(std::move(status));
}

}  // namespace ringcomm::inline v0::comm
