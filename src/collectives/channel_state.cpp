// SPDX-License-Identifier: Apache-2.0
#include "collectives/channel_state.hpp"

#include <algorithm>

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

ChannelState::~ChannelState() {
  if (!running_ || Work(running_).test()) return;
  if (Work(running_).wait(Deadline::after(kDrain)).code() != StatusCode::timeout) return;
  static_cast<void>(
      channel_.fail(Status::aborted("the communicator was destroyed while a stream-ordered operation ran"))
          .is_ok());
  static_cast<void>(Work(running_).wait(Deadline::after(kDrain)).is_ok());
}

Status ChannelState::settle(StreamView next, Deadline deadline) {
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
