// SPDX-License-Identifier: Apache-2.0
// A communicator's own promises, with ranks as threads: creation, windows, health, the thread rule,
// sub-channels.
#include "ringcomm/comm/communicator.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

CommunicatorOptions small_options() {
  CommunicatorOptions options;
  options.deadline = std::chrono::seconds(30);
  options.arena_bytes = 1 << 18;
  options.transports = {inproc_transport()};
  return options;
}

Status expect(bool holds, const std::string& what) {
  return holds ? Status() : Status::internal("expectation failed: " + what);
}

void expect_runs(int ranks, const std::function<Status(Communicator&)>& body) {
  const Status status = run_threads(ranks, body, small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(CommunicatorTest, EveryRankKnowsItsPlaceAndItsPaths) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::atomic<int> sum{0};
    expect_runs(ranks, [&](Communicator& comm) -> Status {
      sum += comm.rank();
      RINGCOMM_TRY(expect(comm.size() == ranks && comm.channel().size() == ranks, "size"));
      RINGCOMM_TRY(expect(comm.channel().rank() == comm.rank(), "channel rank"));
      RINGCOMM_TRY(expect(comm.path_name(comm.rank()) == "self", "own path"));
      for (int peer = 0; peer < ranks; ++peer)
        RINGCOMM_TRY(expect(peer == comm.rank() || comm.path_name(peer) == "inproc", "path"));
      RINGCOMM_TRY(expect(comm.deadline() == std::chrono::seconds(30), "deadline"));
      return expect(comm.counters().arena_bytes >= 1U << 18, "arena");
    });
    EXPECT_EQ(sum.load(), ranks * (ranks - 1) / 2);
  }
}

TEST(CommunicatorTest, ImpossibleSizesAreRefused) {
  for (const int ranks : {0, -3, 100000}) {
    const Status status = Communicator::create_local(ranks).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find(concat(ranks)), std::string::npos) << status.to_string();
  }
  EXPECT_EQ(Communicator::create(nullptr).status().code(), StatusCode::invalid_argument);
}

TEST(CommunicatorTest, WithoutALauncherTheEnvironmentGivesOneRank) {
  auto comm = Communicator::from_environment(small_options());
  ASSERT_TRUE(comm.is_ok()) << comm.status().to_string();
  EXPECT_EQ(comm.value().size(), 1);
  EXPECT_TRUE(barrier(comm.value().channel()).is_ok());
}

TEST(CommunicatorTest, WindowsAreOfferableWhileTheyLiveAndOutliveTheCommunicator) {
  std::optional<Window> kept;
  {
    auto made = Communicator::create_local(1, small_options());
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    Communicator& comm = made.value()[0];
    auto window = comm.allocate(1000);
    ASSERT_TRUE(window.is_ok());
    kept = std::move(window).value();
    EXPECT_EQ(kept->bytes(), 1000U);
    const Channel& channel = comm.channel();
    EXPECT_TRUE(channel.is_offerable(kept->data(), 1000));
    EXPECT_TRUE(channel.is_offerable(kept->data() + 10, 100));
    EXPECT_FALSE(channel.is_offerable(kept->data() - 1, 10));
    EXPECT_FALSE(channel.is_offerable(kept->data(), std::size_t{1} << 40));
    std::vector<std::byte> own(100);
    EXPECT_FALSE(channel.is_offerable(own.data(), own.size()));
    const std::byte* gone = nullptr;
    std::weak_ptr<Segment> segment;
    {
      auto other = comm.allocate(5000);
      ASSERT_TRUE(other.is_ok());
      gone = other.value().data();
      segment = other.value().segment();
    }
    EXPECT_FALSE(channel.is_offerable(gone, 10)) << "a window that is gone";
    EXPECT_TRUE(segment.expired());
    unsigned char resident = 0;
    EXPECT_EQ(mincore(const_cast<std::byte*>(gone), 1, &resident), -1) << "its memory is still mapped";
    auto block = comm.channel().allocate(300);
    ASSERT_TRUE(block.is_ok());
    EXPECT_TRUE(channel.is_offerable(block.value().data(), 300));
  }
  kept->span<char>()[999] = 'x';  // still mapped
  kept.reset();
}

TEST(CommunicatorTest, AFullArenaGrowsByASegment) {
  auto made = Communicator::create_local(1, small_options());
  ASSERT_TRUE(made.is_ok());
  Communicator& comm = made.value()[0];
  const std::size_t before = comm.counters().arena_bytes;
  {
    auto block = comm.channel().allocate(1 << 20);
    ASSERT_TRUE(block.is_ok()) << block.status().to_string();
    EXPECT_TRUE(comm.channel().is_offerable(block.value().data(), 1 << 20));
    EXPECT_GE(comm.counters().arena_bytes, before + (1U << 20));
    EXPECT_GE(comm.counters().arena_high_water_bytes, 1U << 20);
  }
  ASSERT_TRUE(comm.channel().allocate(1 << 20).is_ok());
  EXPECT_LT(comm.counters().arena_bytes, before + (3U << 20)) << "the grown segment is used again";
}

TEST(CommunicatorTest, ARefusedWindowNamesTheLimitAndBreaksNothing) {
  auto made = Communicator::create_local(1, small_options());
  ASSERT_TRUE(made.is_ok());
  const Status status = made.value()[0].allocate(std::size_t{1} << 50).status();
  EXPECT_EQ(status.code(), StatusCode::out_of_memory) << status.to_string();
  EXPECT_TRUE(made.value()[0].health().is_ok());
}

TEST(CommunicatorTest, AbortIsTheHealthOfAllAndOfEveryLaterCall) {
  std::atomic<bool> is_aborted{false};
  expect_runs(3, [&](Communicator& comm) -> Status {
    if (comm.rank() == 2) {
      comm.abort("enough");
      comm.abort("a second reason");
      is_aborted = true;
    }
    const Status waited = barrier(comm.channel()).status();
    RINGCOMM_TRY(
        expect(waited.code() == StatusCode::aborted && waited.message().find("enough") != std::string::npos,
               waited.to_string()));
    RINGCOMM_TRY(expect(comm.health().code() == StatusCode::aborted, "health"));
    RINGCOMM_TRY(
        expect(comm.open_channel({0, 1, 2}, 7).status().code() == StatusCode::aborted, "open_channel"));
    return expect(barrier(comm.channel()).status().message() == waited.message(), "the first failure stays");
  });
}

TEST(CommunicatorTest, SubChannelsRunTheirOwnOperationsSideBySide) {
  expect_runs(5, [](Communicator& comm) -> Status {
    const bool is_low = comm.rank() < 2;
    RINGCOMM_TRY_ASSIGN(Channel* const half,
                        comm.open_channel(is_low ? std::vector<int>{1, 0} : std::vector<int>{4, 2, 3}));
    RINGCOMM_TRY_ASSIGN(Channel* const all, comm.open_channel({0, 1, 2, 3, 4}, 9));
    const int rounds = is_low ? 7 : 3;  // sequences differ by membership and must not be mixed up
    for (int round = 0; round < rounds; ++round) {
      float mine = static_cast<float>(10 * comm.rank() + round);
      std::vector<float> out(static_cast<std::size_t>(half->size()));
      RINGCOMM_TRY(all_gather(*half, TensorView::contiguous(&mine, DType::float32, {1}),
                              TensorView::contiguous(out.data(), DType::float32, {half->size()}))
                       .status());
      for (int i = 0; i < half->size(); ++i) {
        RINGCOMM_TRY(
            expect(out[static_cast<std::size_t>(i)] == static_cast<float>(10 * half->member(i) + round),
                   "the members' order is the list's"));
      }
    }
    RINGCOMM_TRY(barrier(*all).status());
    return barrier(comm.channel()).status();
  });
}

TEST(CommunicatorTest, WrongMemberListsAreRefusedAtTheCall) {
  expect_runs(2, [](Communicator& comm) -> Status {
    const auto refused = [&](std::vector<int> members, std::string_view part) {
      const Status got = comm.open_channel(std::move(members), 3).status();
      return expect(
          got.code() == StatusCode::invalid_argument && got.message().find(part) != std::string::npos,
          got.to_string());
    };
    RINGCOMM_TRY(refused({}, "not among the members"));
    RINGCOMM_TRY(refused({1 - comm.rank()}, "not among the members"));
    RINGCOMM_TRY(refused({0, 1, 2}, "member 2 is no rank"));
    RINGCOMM_TRY(refused({0, 1, -1}, "member -1 is no rank"));
    RINGCOMM_TRY(refused({0, 1, 0}, "rank 0 is listed twice"));
    RINGCOMM_TRY(comm.open_channel({0, 1}, 3).status());
    RINGCOMM_TRY(refused({0, 1}, "ordinal 3 is open already"));
    return barrier(comm.channel()).status();
  });
}

TEST(CommunicatorTest, AChannelHasItsOwnDeadline) {
  auto made = Communicator::create_local(2, small_options());  // the communicator's is 30 s
  ASSERT_TRUE(made.is_ok());
  ChannelOptions options;
  options.deadline = std::chrono::milliseconds(1000);
  options.chunk_bytes = 4096;
  options.priority = 2;
  std::vector<Channel*> channels(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        auto opened = made.value()[rank].open_channel({0, 1}, 5, options);
        ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
        channels[rank] = opened.value();
        EXPECT_EQ(channels[rank]->options().deadline, options.deadline);
        EXPECT_EQ(channels[rank]->options().chunk_bytes, 4096U);
        EXPECT_EQ(channels[rank]->options().priority, 2);
        EXPECT_EQ(made.value()[rank].channel().options().deadline.count(), 0);
      });
    }
  }
  const auto started = std::chrono::steady_clock::now();
  const Status waited = barrier(*channels[0]).status();  // rank 1 does not come
  EXPECT_EQ(waited.code(), StatusCode::timeout) << waited.to_string();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(15));
}

TEST(CommunicatorTest, WrongChannelOptionsAreRefused) {
  auto made = Communicator::create_local(1, small_options());
  ASSERT_TRUE(made.is_ok());
  ChannelOptions options;
  options.deadline = std::chrono::milliseconds(-4);
  Status got = made.value()[0].open_channel({0}, 1, options).status();
  EXPECT_EQ(got.code(), StatusCode::invalid_argument);
  EXPECT_NE(got.message().find("-4 ms"), std::string::npos) << got.to_string();
  got = made.value()[0].open_channel({0}, 0x80000000U).status();
  EXPECT_EQ(got.code(), StatusCode::invalid_argument) << got.to_string();
}

TEST(CommunicatorTest, TwoCommunicatorsOfOneProcessDoNotMeet) {
  auto first = Communicator::create_local(2, small_options());
  auto second = Communicator::create_local(2, small_options());
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      for (int round = 0; round < 50; ++round) {
        EXPECT_TRUE(barrier(first.value()[rank].channel()).is_ok());
        if (round % 3 != 0) continue;
        EXPECT_TRUE(barrier(second.value()[rank].channel()).is_ok());
      }
    });
  }
}

#ifndef NDEBUG
TEST(CommunicatorTest, ASecondThreadInsideIsRefusedAndHarmsNothing) {
  auto made = Communicator::create_local(2, small_options());
  ASSERT_TRUE(made.is_ok());
  std::vector<Communicator>& comms = made.value();
  {
    std::vector<OperationScope> inside;  // this thread is in an operation of both ranks
    for (Communicator& comm : comms) {
      auto scope =
          comm.channel().begin(OpCode::barrier, DType::uint8, ReduceOp::none, 0, {}, Announce::later);
      ASSERT_TRUE(scope.is_ok());
      inside.push_back(std::move(scope).value());
    }
    Status second;
    std::thread([&] { second = barrier(comms[0].channel()).status(); }).join();
    EXPECT_EQ(second.code(), StatusCode::invalid_argument) << second.to_string();
    EXPECT_NE(second.message().find("two threads use the communicator of rank 0"), std::string::npos);
  }
  EXPECT_TRUE(comms[0].health().is_ok());
  std::jthread peer([&] { EXPECT_TRUE(barrier(comms[1].channel()).is_ok()); });
  EXPECT_TRUE(barrier(comms[0].channel()).is_ok());
}
#endif

TEST(CommunicatorTest, ANegativeDeadlineIsRefused) {
  CommunicatorOptions options = small_options();
  options.deadline = std::chrono::milliseconds(-1);
  const Status status = Communicator::create_local(2, options).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
  auto made = Communicator::create_local(1, small_options());
  ASSERT_TRUE(made.is_ok());
  CallOptions call;
  call.deadline = std::chrono::milliseconds(-5);
  EXPECT_EQ(barrier(made.value()[0].channel(), call).status().code(), StatusCode::invalid_argument);
  EXPECT_TRUE(barrier(made.value()[0].channel()).is_ok());
}

}  // namespace
}  // namespace ringcomm
