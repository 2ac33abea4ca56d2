// SPDX-License-Identifier: Apache-2.0
#include "collectives/channel_state.hpp"

#include <algorithm>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

constexpr std::chrono::seconds kDrain{1};

}  // namespace

ProgramKey& ProgramKey::add(const TensorView& view) {
  add(static_cast<const void*>(view.data));
  add(static_cast<std::uint64_t>(view.dtype) * 8 + static_cast<std::uint64_t>(view.axes));
  for (int axis = 0; axis < view.axes; ++axis) {
    add(view.shape[static_cast<std::size_t>(axis)]);
    add(view.strides[static_cast<std::size_t>(axis)]);
  }
  return *this;
}

std::shared_ptr<Runnable> ProgramCache::find(const ProgramKey& key, std::span<const std::int64_t> list) {
  for (Entry& entry : entries_) {
    if (entry.key != key || !std::ranges::equal(entry.list, list)) continue;
    entry.last_used = ++clock_;
    return entry.runnable;
  }
  return nullptr;
}

void ProgramCache::insert(const ProgramKey& key, std::span<const std::int64_t> list,
                          std::shared_ptr<Runnable> made) {
  if (entries_.size() == kProgramsMax)
    entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_used));
  entries_.push_back({key, {list.begin(), list.end()}, std::move(made), ++clock_});
}

ChannelState& ChannelState::of(Channel& channel) {
  std::shared_ptr<void>& kept = channel.extension();
  if (!kept) kept = std::make_shared<ChannelState>(channel);
  return *static_cast<ChannelState*>(kept.get());
}

namespace {

// The last item of a lender (if it leaves one: with messages nothing of a peer is read in place) is one
// batch: the releases of what it took, then the reclaims of what it offered.
std::span<const TransportOp> ops_left(const Runnable& lender, TransportOpKind kind) {
  const Program& program = lender.program;
  const auto ops = program.ops_of(program.batches[program.items.back().index]);
  const auto count = static_cast<std::size_t>(std::ranges::count(ops, kind, &TransportOp::kind));
  return kind == TransportOpKind::release ? ops.first(count) : ops.last(count);
}

}  // namespace

std::uint64_t ChannelState::lend(std::shared_ptr<Runnable> runnable) {
  lender_ = std::move(runnable);
  are_results_held_ = true;
  return ++loans_;
}

Status ChannelState::release_results() {
  if (!lender_ || !std::exchange(are_results_held_, false) || lender_->items_left == 0) return {};
  return channel_.transport().run(ops_left(*lender_, TransportOpKind::release), Deadline());
}

Status ChannelState::give_back(std::uint64_t loan) { return loan == loans_ ? release_results() : Status(); }

Status ChannelState::end_loan(Deadline deadline) {
  RINGCOMM_TRY(release_results());
  const std::shared_ptr<Runnable> lender = std::exchange(lender_, nullptr);
  if (lender->items_left == 0) return {};
  return channel_.transport().run(ops_left(*lender, TransportOpKind::reclaim), deadline);
}

ChannelState::~ChannelState() {
  // Peers may be reading merged rows in this rank's memory.
  const std::shared_ptr<Runnable> lender = lender_;  // its memory stays until that is settled
  if (lender && end_loan(Deadline::after(kDrain)).code() == StatusCode::timeout) {
    static_cast<void>(
        channel_.fail(Status::aborted("the communicator was destroyed while a peer held merged rows"))
            .is_ok());
  }
  if (!running_ || Work(running_).test()) return;
  if (Work(running_).wait(Deadline::after(kDrain)).code() != StatusCode::timeout) return;
  static_cast<void>(
      channel_.fail(Status::aborted("the communicator was destroyed while a stream-ordered operation ran"))
          .is_ok());
  static_cast<void>(Work(running_).wait(Deadline::after(kDrain)).is_ok());
}

Status ChannelState::settle(StreamView next, Deadline deadline) {
  if (lender_) RINGCOMM_TRY(end_loan(deadline));
  if (!running_ || (next && next.impl == stream_)) return {};
  const Status waited = Work(running_).wait(deadline);
  if (waited.code() == StatusCode::timeout && !Work(running_).test()) {
    return Status::timeout(
        "the last stream-ordered operation of this channel has not finished (a channel runs one at a time)");
  }
  running_.reset();
  return {};
}

void ChannelState::set_running(std::shared_ptr<Work::State> work, StreamView stream) {
  running_ = std::move(work);
  stream_ = stream.impl;
}

}  // namespace ringcomm::inline v0::collectives
