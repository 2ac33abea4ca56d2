// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/comm/channel.hpp"

#include <utility>

#include "comm/comm_state.hpp"
#include "ringcomm/core/call_site.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

OperationScope::OperationScope(OperationScope&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)),
      descriptor_(other.descriptor_),
      deadline_(other.deadline_),
      is_entered_(other.is_entered_) {}

OperationScope::~OperationScope() {
  if (channel_ == nullptr) return;
  if (is_entered_) channel_->leave(descriptor_, channel_->parts_->state->transport->health().code());
  channel_->parts_->is_busy = false;
  channel_->parts_->state->turn.leave();
}

Channel::Channel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Channel::~Channel() { parts_->extension.reset(); }

int Channel::rank() const { return parts_->position; }
int Channel::size() const { return static_cast<int>(parts_->members.size()); }
int Channel::member(int index) const { return parts_->members[static_cast<std::size_t>(index)]; }
bool Channel::is_key(const std::vector<int>& members, std::uint32_t ordinal) const {
  return parts_->ordinal == ordinal && parts_->members == members;
}
const ChannelOptions& Channel::options() const { return parts_->options; }
const std::vector<int>& Channel::ring_order() const { return parts_->ring_order; }
bool Channel::prefers_relay() const { return parts_->prefers_relay; }
const MergeLimits& Channel::merge_limits() const { return parts_->state->merge; }

namespace {

/// A rank that is told of a mismatch before its own call: what it was about to call tells which side is odd.
/// Once; nothing that follows a failure is worth a place in the record.
void note_refused(Channel::Parts& parts, OpCode op, DType dtype, ReduceOp reduce_op,
                  std::uint64_t signature) noexcept {
  ChannelSink* const recorder = std::exchange(parts.sinks.recorder, nullptr);
  if (recorder == nullptr || op == OpCode::send_recv) return;
  Descriptor refused;
  refused.op = op;
  refused.dtype = dtype;
  refused.reduce_op = reduce_op;
  refused.signature = signature;
  refused.sequence = parts.sequence + 1;
  recorder->enter(refused, Deadline::after(std::chrono::milliseconds(0)).point_ns(), CallSite::current());
  recorder->leave(refused, StatusCode::mismatch);
}

}  // namespace

Result<OperationScope> Channel::begin(OpCode op, DType dtype, ReduceOp reduce_op, std::uint64_t signature,
                                      std::chrono::milliseconds deadline, Announce announce) {
  comm::CommState& state = *parts_->state;
  if (state.is_forked_copy()) return state.fork_error();
  if (deadline.count() < 0) {
    return Status::invalid_argument(
        concat("deadline of ", name_of(op), " is ", deadline.count(), " ms (it may not be negative)"));
  }
  if (!state.turn.enter()) {
    return Status::invalid_argument(concat("two threads use the communicator of rank ", state.rank,
                                           " at the same time: ", name_of(op),
                                           " was called while another thread is inside (one at a time)"));
  }
  if (parts_->is_busy) {
    state.turn.leave();
    return Status::invalid_argument(concat(name_of(op), " was called inside operation #", parts_->sequence,
                                           " of the same channel (it has to end first, or use another "
                                           "channel)"));
  }
  OperationScope scope;
  scope.channel_ = this;  // from here on leaving the scope leaves the turn
  parts_->is_busy = true;
  if (Status health = state.transport->health(); !health.is_ok()) {
    if (health.code() == StatusCode::mismatch) note_refused(*parts_, op, dtype, reduce_op, signature);
    return health;
  }
  if (deadline.count() == 0) deadline = parts_->options.deadline;
  scope.deadline_ = Deadline::after(deadline.count() == 0 ? state.deadline : deadline);
  scope.descriptor_.op = op;
  scope.descriptor_.dtype = dtype;
  scope.descriptor_.reduce_op = reduce_op;
  scope.descriptor_.signature = signature;
  // Members outside its pairs do not call send_recv: it may not count among what all members count.
  if (op != OpCode::send_recv) ++parts_->sequence;
  scope.descriptor_.sequence = parts_->sequence;
  if (announce == Announce::now) {
    enter(scope.descriptor_, scope.deadline_, CallSite::current());
    scope.is_entered_ = true;
  }
  return scope;
}

void Channel::enter(const Descriptor& descriptor, Deadline deadline, std::string_view call_site) noexcept {
  if (parts_->sinks.all != nullptr) parts_->sinks.all->enter(descriptor, deadline.point_ns(), call_site);
  if (descriptor.op != OpCode::send_recv) parts_->lanes->announce(descriptor);
}

void Channel::leave(const Descriptor& descriptor, StatusCode code) noexcept {
  if (parts_->sinks.all != nullptr) parts_->sinks.all->leave(descriptor, code);
}

ChannelSink* Channel::sink() const { return parts_->sinks.all; }

void Channel::keep_plan(std::uint64_t signature, const plan::RankPlan& slice) noexcept {
  parts_->state->recording.keep_plan(parts_->sinks.recorder, signature, slice);
}

Status Channel::fail(Status reason) {
  comm::CommState& state = *parts_->state;
  if (state.is_forked_copy()) return state.fork_error();
  // The transport has told what it found itself.
  if (state.transport->health().is_ok()) reason = state.recording.explain(std::move(reason), -1);
  state.transport->abort(reason);
  state.pool->freeze();
  Status in_force = state.transport->health();
  if (in_force.is_ok()) in_force = std::move(reason);
  return state.recording.note(std::move(in_force));  // transports that do not know the listener
}

TransportChannel& Channel::transport() { return *parts_->lanes; }
Capabilities Channel::capabilities() const { return parts_->state->transport->capabilities(); }

Result<ArenaBlock> Channel::allocate(std::size_t bytes) {
  if (parts_->state->is_forked_copy()) return parts_->state->fork_error();
  auto block = parts_->state->pool->allocate(bytes);
  parts_->state->note_memory();
  return block;
}

bool Channel::is_offerable(const void* address, std::size_t bytes) const {
  return bytes == 0 || parts_->state->pool->is_offerable(address, bytes);
}

void Channel::count_packed(std::size_t bytes) {
  comm::CommState& state = *parts_->state;
  if (bytes == 0 || state.bytes_packed.fetch_add(bytes, std::memory_order_relaxed) != 0) return;
  log(LogLevel::info,
      concat("copied: not in a window (rank ", state.rank, " packed ", format_bytes(bytes),
             " for its peers; contiguous memory from Communicator::allocate is read in place)"));
}

Result<StreamView> Channel::comm_stream() {
  if (parts_->state->is_forked_copy()) return parts_->state->fork_error();
  return parts_->state->own_stream(parts_->options.priority);
}

std::shared_ptr<void>& Channel::extension() { return parts_->extension; }

}  // namespace ringcomm::inline v0
