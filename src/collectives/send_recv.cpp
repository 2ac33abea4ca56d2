// SPDX-License-Identifier: Apache-2.0
// Sends and receives between single members: numbered per pair, because the others do not take part
// (docs/decisions/0008).
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/staged_run.hpp"
#include "collectives/tensor_checks.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

constexpr std::string_view kWhat = "send_recv";

bool is_send(const PointToPoint& message) { return message.kind == PointToPoint::Kind::send; }

class SendRecvRun : public StagedRun {
 public:
  using StagedRun::readable;
  explicit SendRecvRun(Channel& channel) : StagedRun(channel) {
    compute = [](Runnable&, const Compute& step) {
      if (step.op.bytes != 0) std::memcpy(step.target, step.slot, step.op.bytes);
    };
    number = [](Runnable& self) { static_cast<SendRecvRun&>(self).number_messages(); };
  }

 private:
  // At run time, in stream order: then both sides count the same messages, however calls are queued.
  void number_messages() {
    PairCounts& counts = ChannelState::of(channel()).pair_counts;
    for (TransportOp& op : program.ops)
      op.descriptor.sequence = counts.next(op.kind == TransportOpKind::send, op.peer);
  }
};

Status check_message(const PointToPoint& message) {
  const std::string_view name = is_send(message) ? "sent tensor" : "received tensor";
  RINGCOMM_TRY(check_host(kWhat, name, message.tensor));
  if (!is_send(message) && !message.tensor.is_contiguous())
    return Status::invalid_argument(
        concat(kWhat, ": the tensor received from member ", message.peer, " is not contiguous"));
  return {};
}

/// The k-th send to the own rank meets the k-th receive; sizes are the plan's to compare.
Status check_own_types(const Channel& channel, std::span<const PointToPoint> group) {
  std::size_t receive = 0;
  const auto is_own_receive = [&](const PointToPoint& m) { return m.peer == channel.rank() && !is_send(m); };
  for (const PointToPoint& message : group) {
    if (message.peer != channel.rank() || !is_send(message)) continue;
    while (receive < group.size() && !is_own_receive(group[receive])) ++receive;
    if (receive == group.size()) return {};  // the plan counts them
    const DType other = group[receive++].tensor.dtype;
    if (message.tensor.dtype == other) continue;
    return Status::invalid_argument(concat(kWhat, ": rank ", channel.rank(), " sends itself ",
                                           name_of(message.tensor.dtype), " and receives ", name_of(other)));
  }
  return {};
}

Result<std::shared_ptr<Runnable>> make_send_recv(Channel& channel, std::span<const PointToPoint> group) {
  plan::PointToPointRule rule{.ranks = channel.size(), .messages = {}};
  auto made = std::make_shared<SendRecvRun>(channel);
  std::vector<std::byte*> slots;
  for (const PointToPoint& message : group) {
    rule.messages.push_back(
        {.is_send = is_send(message), .peer = message.peer, .bytes = message.tensor.bytes()});
  }
  RINGCOMM_TRY_ASSIGN(auto slice, plan::point_to_point_slice(rule, channel.rank()));
  for (const PointToPoint& message : group) {
    slots.push_back(static_cast<std::byte*>(message.tensor.data));
    if (is_send(message)) {
      RINGCOMM_TRY_ASSIGN(slots.back(), made->readable(message.tensor));
    }
  }
  made->common.op = OpCode::send_recv;
  made->common.signature = slice.signature;
  RINGCOMM_TRY_ASSIGN(made->program, lower(std::move(slice), slots, made->common));
  std::size_t at = 0;
  for (const PointToPoint& message : group) {
    if (message.peer != channel.rank()) made->program.ops[at++].descriptor.dtype = message.tensor.dtype;
  }
  return std::shared_ptr<Runnable>(std::move(made));
}

/// Everything that a group's program depends on; too long for a ProgramKey.
void list_words(const Channel& channel, std::span<const PointToPoint> group,
                std::vector<std::int64_t>& words) {
  words.clear();
  for (const PointToPoint& message : group) {
    const TensorView& tensor = message.tensor;
    words.push_back(message.peer * 4 + (is_send(message) ? 2 : 0) +
                    (is_send(message) && is_readable(channel, tensor) ? 1 : 0));
    words.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data)));
    words.push_back(static_cast<std::int64_t>(tensor.dtype) * 8 + tensor.axes);
    for (int axis = 0; axis < tensor.axes; ++axis) {
      words.push_back(tensor.shape[static_cast<std::size_t>(axis)]);
      words.push_back(tensor.strides[static_cast<std::size_t>(axis)]);
    }
  }
}

}  // namespace
}  // namespace collectives

Result<Work> send_recv(Channel& channel, std::span<const PointToPoint> group, const CallOptions& options) {
  return comm::guard("send_recv", [&]() -> Result<Work> {
    for (const PointToPoint& message : group) RINGCOMM_TRY(collectives::check_message(message));
    RINGCOMM_TRY(collectives::check_own_types(channel, group));
    auto& state = collectives::ChannelState::of(channel);
    collectives::list_words(channel, group, state.scratch);
    const auto key = collectives::ProgramKey().add(static_cast<std::uint64_t>(OpCode::send_recv));
    return collectives::launch_cached(channel, state.programs, key, state.scratch, options,
                                      [&] { return collectives::make_send_recv(channel, group); });
  });
}

Result<Work> send(Channel& channel, const TensorView& tensor, int peer, const CallOptions& options) {
  const PointToPoint message{.kind = PointToPoint::Kind::send, .peer = peer, .tensor = tensor};
  return send_recv(channel, {&message, 1}, options);
}

Result<Work> receive(Channel& channel, const TensorView& tensor, int peer, const CallOptions& options) {
  const PointToPoint message{.kind = PointToPoint::Kind::receive, .peer = peer, .tensor = tensor};
  return send_recv(channel, {&message, 1}, options);
}

}  // namespace ringcomm::inline v0
