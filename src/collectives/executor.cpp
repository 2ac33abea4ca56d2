// SPDX-License-Identifier: Apache-2.0
#include "collectives/executor.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include "collectives/channel_state.hpp"
#include "core/try.hpp"
#include "ringcomm/core/call_site.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

constexpr std::chrono::seconds kBackstop{2};
constexpr std::chrono::seconds kDrain{5};

struct Run {
  Channel& channel;
  Runnable& runnable;
  Descriptor descriptor;
  Deadline deadline;
  std::string_view call_site;
};

void enter(const Run& run) {
  run.channel.enter(run.descriptor, run.deadline, run.call_site);
  if (run.runnable.number != nullptr) return run.runnable.number(run.runnable);
  run.runnable.program.set_sequence(run.descriptor.sequence);
}

void compute(Channel& channel, Runnable& runnable, const Compute& step) {
  runnable.compute(runnable, step);
  record_computed(channel, runnable.program, step);
}

/// What a run executes of its program.
std::span<const Item> items_of(const Runnable& runnable) {
  const std::span<const Item> items = runnable.program.items;
  return items.first(items.size() - runnable.items_left);
}

Status walk_items(const Run& run) {
  Program& program = run.runnable.program;
  TransportChannel& lanes = run.channel.transport();
  if (run.runnable.prepare != nullptr) run.runnable.prepare(run.runnable);
  for (const Item& item : items_of(run.runnable)) {
    if (item.kind == Item::Kind::compute) {
      compute(run.channel, run.runnable, program.computes[item.index]);
    } else {
      RINGCOMM_TRY(lanes.run(program.ops_of(program.batches[item.index]), run.deadline));
    }
  }
  return {};
}

Status run_items(const Run& run) {
  enter(run);
  Status status = walk_items(run);
  run.channel.leave(run.descriptor, status.code());
  return status;
}

// A stream that has failed drops its tasks unseen: then this object's destruction finishes the Work, and
// releases the peers, which wait for a rank that will never come.
class Completion {
 public:
  Completion(std::shared_ptr<Work::State> work, Channel& channel, StreamImpl* stream)
      : work_(std::move(work)), channel_(&channel), stream_(stream) {}
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&&) = delete;
  ~Completion() {
    if (!work_) return;
    const Status sticky = stream_->status();
    work_->finish(channel_->fail(
        sticky.is_ok() ? Status::aborted("the stream dropped the operation before it ran") : sticky));
  }
  void finish(const Status& status) { std::exchange(work_, nullptr)->finish(status); }

 private:
  std::shared_ptr<Work::State> work_;
  Channel* channel_;
  StreamImpl* stream_;
};

Status enqueue_whole(const Run& run, std::shared_ptr<Runnable> runnable, Completion completion,
                     StreamView stream) {
  struct Whole {
    Channel* channel;
    std::shared_ptr<Runnable> runnable;
    Completion completion;
    std::uint32_t sequence;
    Deadline deadline;
    std::string_view call_site;
    Status operator()() {
      Descriptor descriptor = runnable->common;
      descriptor.sequence = sequence;
      Status status = run_items({*channel, *runnable, descriptor, deadline, call_site});
      if (!status.is_ok()) status = channel->fail(status);
      completion.finish(status);
      return status;
    }
  };
  return stream.impl->enqueue(Whole{&run.channel, std::move(runnable), std::move(completion),
                                    run.descriptor.sequence, run.deadline, run.call_site},
                              run.deadline);
}

// For transports that order by stream themselves: every batch and every compute is queued on its own. The
// program's operations must live until they have run, so the caller settles the channel before the next run.
Status submit_items(const Run& run, StreamView stream) {
  Runnable& runnable = run.runnable;
  Program& program = runnable.program;
  enter(run);
  if (runnable.prepare != nullptr) {
    RINGCOMM_TRY(stream.impl->enqueue(Task([&runnable] {
                                        runnable.prepare(runnable);
                                        return Status();
                                      }),
                                      run.deadline));
  }
  for (const Item& item : items_of(runnable)) {
    if (item.kind == Item::Kind::batch) {
      RINGCOMM_TRY(
          run.channel.transport().submit(program.ops_of(program.batches[item.index]), stream, run.deadline));
      continue;
    }
    const Compute& step = program.computes[item.index];
    RINGCOMM_TRY(stream.impl->enqueue(Task([&channel = run.channel, &runnable, &step] {
                                        compute(channel, runnable, step);
                                        return Status();
                                      }),
                                      run.deadline));
  }
  return {};
}

Status enqueue_completion(const Run& run, std::shared_ptr<Runnable> runnable, Completion completion,
                          StreamView stream) {
  struct Last {
    Channel* channel;
    std::shared_ptr<Runnable> runnable;
    Completion completion;
    std::uint32_t sequence;
    Status operator()() {
      Descriptor ended = runnable->common;
      ended.sequence = sequence;
      channel->leave(ended, StatusCode::ok);
      completion.finish({});
      return {};
    }
  };
  return stream.impl->enqueue(
      Last{&run.channel, std::move(runnable), std::move(completion), run.descriptor.sequence}, run.deadline);
}

// Whatever goes wrong, nothing of the program may run any more when the caller gets its buffers back.
Status run_blocking(const Run& run) {
  if (!run.channel.capabilities().stream_ordered) return run_items(run);
  RINGCOMM_TRY_ASSIGN(const StreamView stream, run.channel.comm_stream());
  Status status = submit_items(run, stream);
  const Status ended = stream.impl->synchronize(backstop(run.deadline));
  if (status.is_ok()) status = ended;
  run.channel.leave(run.descriptor, status.code());
  if (status.is_ok()) return status;
  status = run.channel.fail(std::move(status));
  static_cast<void>(stream.impl->synchronize(Deadline::after(kDrain)).is_ok());
  return status;
}

Result<Work> run_in_stream(const Run& run, const std::shared_ptr<Runnable>& runnable, StreamView stream) {
  auto state = std::make_shared<Work::State>();
  Completion completion(state, run.channel, stream.impl);
  if (run.channel.capabilities().stream_ordered) {
    RINGCOMM_TRY(submit_items(run, stream));
    RINGCOMM_TRY(enqueue_completion(run, runnable, std::move(completion), stream));
  } else {
    RINGCOMM_TRY(enqueue_whole(run, runnable, std::move(completion), stream));
  }
  ChannelState::of(run.channel).set_running(state, stream);
  return Work(std::move(state));
}

}  // namespace

Deadline backstop(Deadline deadline) {
  constexpr std::int64_t kExtraNs = std::chrono::nanoseconds(kBackstop).count();
  return deadline.point_ns() > std::numeric_limits<std::int64_t>::max() - kExtraNs
             ? Deadline()
             : Deadline::at_ns(deadline.point_ns() + kExtraNs);
}

Result<Work> launch(Channel& channel, const std::shared_ptr<Runnable>& runnable, const CallOptions& options) {
  const Descriptor& common = runnable->common;
  RINGCOMM_TRY_ASSIGN(const OperationScope scope,
                      channel.begin(common.op, common.dtype, common.reduce_op, common.signature,
                                    options.deadline, Announce::later));
  // Programs are patched before they are submitted to a transport that orders by stream, so those wait too.
  const StreamView follows = channel.capabilities().stream_ordered ? StreamView{} : options.stream;
  Status settled = ChannelState::of(channel).settle(follows, scope.deadline());
  if (!settled.is_ok()) return channel.fail(std::move(settled));
  Run run{channel, *runnable, scope.descriptor(), scope.deadline(), CallSite::current()};
  run.descriptor.bytes = common.bytes;
  run.descriptor.block = common.block;
  if (options.stream) {
    auto work = run_in_stream(run, runnable, options.stream);
    if (!work.is_ok()) return channel.fail(work.status());
    return work;
  }
  if (Status status = run_blocking(run); !status.is_ok()) return channel.fail(std::move(status));
  return Work();
}

}  // namespace ringcomm::inline v0::collectives
