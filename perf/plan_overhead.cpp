// SPDX-License-Identifier: Apache-2.0
#include "plan_overhead.hpp"

#include <array>
#include <atomic>
#include <vector>

#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/deadline.hpp"
#include "stats.hpp"

namespace ringcomm::perf {
namespace {

constexpr int kRanksMax = 16;

/// One pair's flags in both directions, as a shared-memory transport has them: epoch and descriptor on lines
/// of their own.
struct Flags {
  alignas(64) std::atomic<std::uint32_t> offered{0};
  alignas(64) Descriptor offer{};
  alignas(64) std::atomic<std::uint32_t> released{0};
  alignas(64) std::atomic<std::uint32_t> peer_offered{0};
  alignas(64) Descriptor peer_offer{};
  alignas(64) std::atomic<std::uint32_t> peer_released{0};
};

/// The work on flags, shared by both loops; never inlined, so that neither gets a better version.
[[gnu::noinline]] void offer(Flags& flags, const Descriptor& descriptor) {
  flags.offer = descriptor;
  flags.offered.store(flags.offered.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
}
[[gnu::noinline]] bool take(Flags& flags, const Descriptor& expected) {
  flags.peer_offer = expected;  // the peer is always there, with what is expected
  const std::uint32_t epoch = flags.peer_offered.load(std::memory_order_acquire);
  return epoch == 0 && flags.peer_offer == expected;
}
[[gnu::noinline]] void release(Flags& flags) {
  flags.released.store(flags.released.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
}
[[gnu::noinline]] bool reclaim(Flags& flags) {
  return flags.peer_released.load(std::memory_order_acquire) == 0;
}

/// Peers whose flags are always set.
class ReadyChannel final : public TransportChannel {
 public:
  explicit ReadyChannel(std::array<Flags, kRanksMax>& flags, const std::byte* block)
      : flags_(flags), block_(block) {}
  void set_sink(ChannelSink* sink) override { sink_ = sink; }
  void announce(const Descriptor& descriptor) override { head_ = descriptor; }
  Status run(std::span<const TransportOp> batch, Deadline /*deadline*/) override {
    now_ = {};
    for (const TransportOp& op : batch) {
      Flags& flags = flags_[static_cast<std::size_t>(op.peer)];
      bool is_ready = true;
      switch (op.kind) {
        case TransportOpKind::offer:
          record(Direction::outgoing, op, OpState::posted);
          offer(flags, op.descriptor);
          break;
        case TransportOpKind::take:
          is_ready = take(flags, op.descriptor);  // there already: no wait begins
          *op.view = {block_, op.bytes};
          record(Direction::incoming, op, OpState::arrived);
          break;
        case TransportOpKind::release:
          release(flags);
          if (op.ends_reading) record(Direction::incoming, op, OpState::computed);
          record(Direction::incoming, op, OpState::released);
          break;
        case TransportOpKind::reclaim:
          is_ready = reclaim(flags);
          record(Direction::outgoing, op, OpState::released);
          break;
        default:
          is_ready = false;
      }
      if (!is_ready) return Status::internal("the plan overhead's flags are always set");
    }
    return {};
  }

 private:
  void record(Direction direction, const TransportOp& op, OpState state) {
    if (sink_ != nullptr) sink_->record_at(direction, op.descriptor, op.peer, op.address, state, now_);
  }

  std::array<Flags, kRanksMax>& flags_;
  const std::byte* block_;
  ChannelSink* sink_ = nullptr;
  Instant now_;
  Descriptor head_;
};

class ReadyTransport final : public Transport {
 public:
  std::string_view name() const override { return "ready"; }
  Capabilities capabilities() const override { return {.direct_read = true}; }
  Status can_serve(const Bootstrap& /*bootstrap*/) const override { return {}; }
  Status connect(Bootstrap& /*bootstrap*/, const TransportOptions& /*options*/,
                 Deadline /*deadline*/) override {
    return {};
  }
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& /*key*/,
                                                         Deadline /*deadline*/) override {
    return std::unique_ptr<TransportChannel>(std::make_unique<ReadyChannel>(flags_, block_.data()));
  }
  Status register_segment(std::shared_ptr<Segment> segment) override {
    segments_.push_back(std::move(segment));
    return {};
  }
  void deregister_segment(const Segment* segment) override {
    std::erase_if(segments_, [&](const auto& held) { return held.get() == segment; });
  }
  std::string_view path_name(int /*peer*/) const override { return name(); }
  void abort(Status reason) override {
    if (failure_.is_ok()) failure_ = std::move(reason);  // one thread here
  }
  Status health() const override { return failure_; }
  TransportCounters counters() const override { return {}; }

 private:
  std::array<Flags, kRanksMax> flags_;
  std::array<std::byte, 4096> block_{};
  std::vector<std::shared_ptr<Segment>> segments_;
  Status failure_;
};

double executor_ns_per_step(RingRotation& rotation, int ranks, int rounds, Status& status) {
  std::uint64_t sum = 0;
  const std::int64_t begun_ns = now_ns();
  for (int round = 0; round < rounds && status.is_ok(); ++round) {
    status = rotation.run([&](const RotationStep& step) {
      sum += reinterpret_cast<std::uintptr_t>(step.parts().front().k.data);
    });
  }
  const std::int64_t spent_ns = now_ns() - begun_ns;
  return sum == 1 ? 0 : static_cast<double>(spent_ns) / rounds / ranks;
}

double hand_written_ns_per_step(std::array<Flags, kRanksMax>& flags, const std::byte* block, int ranks,
                                int rounds) {
  std::uint64_t sum = 0;
  bool is_ready = true;
  Descriptor descriptor{.op = OpCode::ring_rotate, .bytes = 4096, .signature = 7};
  const std::int64_t begun_ns = now_ns();
  for (int round = 0; round < rounds; ++round) {
    ++descriptor.sequence;
    for (int peer = 1; peer < ranks; ++peer) {
      descriptor.step = 0, descriptor.block = 0;
      offer(flags[static_cast<std::size_t>(peer)], descriptor);
    }
    sum += reinterpret_cast<std::uintptr_t>(block);
    for (int step = 1; step < ranks; ++step) {
      Flags& from = flags[static_cast<std::size_t>(ranks - step)];
      descriptor.step = step, descriptor.block = ranks - step;
      is_ready = is_ready && take(from, descriptor);
      sum += reinterpret_cast<std::uintptr_t>(block);
      release(from);
    }
    for (int peer = 1; peer < ranks; ++peer)
      is_ready = is_ready && reclaim(flags[static_cast<std::size_t>(peer)]);
  }
  const std::int64_t spent_ns = now_ns() - begun_ns;
  return sum == 1 || !is_ready ? 0 : static_cast<double>(spent_ns) / rounds / ranks;
}

}  // namespace

Result<PlanOverhead> measure_plan_overhead(int ranks, int rounds) {
  CommunicatorOptions options;
  options.transports = {[] { return std::unique_ptr<Transport>(std::make_unique<ReadyTransport>()); }};
  auto comms = Communicator::create_local(ranks, options);
  if (!comms.is_ok()) return comms.status();
  Communicator& comm = comms.value().front();
  auto window = comm.allocate(4096);
  if (!window.is_ok()) return window.status();
  const TensorView k = TensorView::contiguous(window->data(), DType::uint8, {32, 1, 64});
  const TensorView v = TensorView::contiguous(window->data() + 2048, DType::uint8, {32, 1, 64});
  auto rotation = RingRotation::create(comm.channel(), k, v, {.mode = RotationChoice::direct});
  if (!rotation.is_ok()) return rotation.status();
  auto flags = std::make_unique<std::array<Flags, kRanksMax>>();
  std::vector<double> executor, hand_written;
  Status status;
  for (int repeat = 0; repeat < 8; ++repeat) {  // the first pair warms up
    executor.push_back(executor_ns_per_step(rotation.value(), ranks, rounds, status));
    hand_written.push_back(hand_written_ns_per_step(*flags, window->data(), ranks, rounds));
    if (!status.is_ok()) return status;
  }
  executor.erase(executor.begin());
  hand_written.erase(hand_written.begin());
  return PlanOverhead{median(executor), median(hand_written)};
}

}  // namespace ringcomm::perf
