// SPDX-License-Identifier: Apache-2.0
#include "collectives/rotation_walk.hpp"

#include <chrono>
#include <utility>

#include "collectives/executor.hpp"
#include "core/try.hpp"
#include "ringcomm/device/device.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

constexpr std::chrono::seconds kDrain{5};

}  // namespace

Status RotationWalk::prepare() {
  if (!program_.has_comm_queue && !channel_.capabilities().stream_ordered) return {};
  RINGCOMM_TRY_ASSIGN(stream_, channel_.comm_stream());
  if (!program_.has_comm_queue) return {};
  for (std::size_t batch = 0; batch < program_.batches.size(); ++batch) {
    RINGCOMM_TRY_ASSIGN(auto event, host_device().create_event());
    events_.push_back(std::move(event));
  }
  return {};
}

Status RotationWalk::start(const OperationScope& scope) {
  program_.set_sequence(scope.descriptor().sequence);
  deadline_ = scope.deadline();
  next_item_ = next_batch_ = 0;
  computes_done_ = 0;
  computing_ = nullptr;
  is_given_back_ = false;
  return program_.has_comm_queue ? feed_comm_queue() : Status();
}

Status RotationWalk::issue(const Batch& batch) {
  std::span<const TransportOp> ops = program_.ops_of(batch);
  if (std::exchange(is_given_back_, false)) ops = ops.subspan(1);
  if (!stream_) return ops.empty() ? Status() : channel_.transport().run(ops, deadline_);
  return channel_.transport().submit(ops, stream_, deadline_);
}

void RotationWalk::give_back() {
  if (stream_ || computing_ == nullptr || is_given_back_ || next_item_ == program_.items.size()) return;
  const Item& item = program_.items[next_item_];
  if (item.kind != Item::Kind::batch) return;
  const auto ops = program_.ops_of(program_.batches[item.index]);
  if (ops.front().kind != TransportOpKind::release) return;
  record_done();
  is_given_back_ = channel_.transport().run(ops.first(1), deadline_).is_ok();
}

Status RotationWalk::feed_comm_queue() {
  for (; next_batch_ < program_.batches.size(); ++next_batch_) {
    const Batch& batch = program_.batches[next_batch_];
    if (batch.after >= computes_done_) return {};
    RINGCOMM_TRY(issue(batch));
    if (batch.is_waited_for) RINGCOMM_TRY(events_[next_batch_].record(stream_));
  }
  return {};
}

Status RotationWalk::wait_for(const Compute& compute) {
  if (!program_.has_comm_queue) return stream_.impl->synchronize(backstop(deadline_));
  if (compute.wait_for == kNoIndex) return {};
  return events_[static_cast<std::size_t>(compute.wait_for)].synchronize(backstop(deadline_));
}

void RotationWalk::record_done() { record_computed(channel_, program_, *computing_); }

const Compute* RotationWalk::next(Status& status) {
  if (computing_ != nullptr) {
    if (!is_given_back_) record_done();
    computing_ = nullptr;
    ++computes_done_;
  }
  if (program_.has_comm_queue) status = feed_comm_queue();
  while (status.is_ok() && next_item_ < program_.items.size()) {
    const Item& item = program_.items[next_item_++];
    if (item.kind == Item::Kind::batch) {
      status = issue(program_.batches[item.index]);
      continue;
    }
    const Compute& compute = program_.computes[item.index];
    if (stream_) status = wait_for(compute);
    if (!status.is_ok()) break;
    computing_ = &compute;
    return &compute;
  }
  if (status.is_ok() && stream_) status = stream_.impl->synchronize(backstop(deadline_));
  return nullptr;
}

void RotationWalk::drain() {
  // A forked child's copy has no worker to wait for; comm_stream() refuses there.
  if (stream_ && channel_.comm_stream().is_ok())
    static_cast<void>(stream_.impl->synchronize(Deadline::after(kDrain)).is_ok());
}

}  // namespace ringcomm::inline v0::collectives
