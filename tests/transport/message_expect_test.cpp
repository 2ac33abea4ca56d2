// SPDX-License-Identifier: Apache-2.0
// The message transport tells its port where blocks will go, and takes that back when a run() fails.
#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <utility>

#include "conformance/transport_harness.hpp"
#include "support/memory_port.hpp"
#include "support/rank_threads.hpp"
#include "transport/message/transport.hpp"

namespace ringcomm::conformance {
namespace {

/// A memory port that notes what is expected and compares each receive with it.
class NotingPort final : public MessagePort {
 public:
  std::string_view name() const override { return inner_->name(); }
  Status can_serve(const Bootstrap& bootstrap) const override { return inner_->can_serve(bootstrap); }
  Status connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) override {
    return inner_->connect(bootstrap, sink, deadline);
  }
  Status send_control(int peer, std::span<const std::byte> bytes) override {
    return inner_->send_control(peer, bytes);
  }
  Result<TransferId> send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) override {
    return inner_->send(peer, tag, data, bytes);
  }
  void expect(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override {
    EXPECT_TRUE(expected.try_emplace({peer, tag}, data, bytes).second) << "tag " << tag << " expected twice";
  }
  void cancel() override { expected.clear(); }
  Result<TransferId> receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override {
    const auto found = expected.extract({peer, tag});
    if (!found.empty()) {
      EXPECT_EQ(found.mapped(), std::pair(data, bytes)) << "tag " << tag;
      ++met;
    }
    return inner_->receive(peer, tag, data, bytes);
  }
  Result<bool> is_done(TransferId transfer) override { return inner_->is_done(transfer); }
  Result<bool> progress() override { return inner_->progress(); }
  void sleep(std::chrono::microseconds at_most) override { inner_->sleep(at_most); }
  void wake() override { inner_->wake(); }

  std::map<std::pair<int, std::uint64_t>, std::pair<std::byte*, std::size_t>> expected;
  int met = 0;

 private:
  std::unique_ptr<MessagePort> inner_ = testing_support::memory_port()();
};

void run_noting(const std::function<void(int, Transport&, NotingPort&)>& body) {
  testing_support::run_rank_threads(2, [&](Bootstrap& bootstrap) {
    auto made = std::make_unique<NotingPort>();
    NotingPort& port = *made;
    transport::message::MessageTransport transport(std::move(made));
    ASSERT_TRUE(transport.connect(bootstrap, {}, in_ms(30'000)).is_ok());
    body(bootstrap.rank(), transport, port);
  });
}

/// Short blocks in between have tags too, and go without the port.
TEST(MessageExpectTest, BlocksAreExpectedWhereTheyAreReceived) {
  constexpr std::size_t kLong = 10'000, kShort = 100;
  run_noting([](int rank, Transport& transport, NotingPort& port) {
    Rank me(rank, 2, transport, 4 * kLong);
    for (std::uint32_t round = 0; round < 3; ++round) {
      std::vector<TransportOp> batch;
      for (std::uint32_t i = 0; i < 3; ++i) {
        const Descriptor d = describe_block(3 * round + i + 1, i == 1 ? kShort : kLong);
        batch.push_back(rank == 0 ? send(1, me.block(i * kLong), d) : recv(0, me.block(i * kLong), d));
      }
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // expected before it comes
      ASSERT_TRUE(me.go(batch, in_ms(20'000)).is_ok());
      EXPECT_TRUE(port.expected.empty());
    }
    EXPECT_EQ(port.met > 0, rank == 1);
  });
}

TEST(MessageExpectTest, AFailedRunExpectsNothingAnyMore) {
  constexpr std::size_t kBytes = 10'000;
  run_noting([](int rank, Transport& transport, NotingPort& port) {
    Rank me(rank, 2, transport, kBytes);
    if (rank == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(me.go({recv(0, me.block(), describe_block(1, kBytes))}, in_ms(50)).code(), StatusCode::timeout);
    EXPECT_TRUE(port.expected.empty());
  });
}

}  // namespace
}  // namespace ringcomm::conformance
