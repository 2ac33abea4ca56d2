// SPDX-License-Identifier: Apache-2.0
// Split over every color map that is small enough to name: who is with whom and in which order, by the rule
// of MPI_Comm_split worked out here with a sort; what each group gathers is compared with what its members
// must have given.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "collectives/media.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"

namespace ringcomm {
namespace {

using namespace test;

/// The members' old ranks in order, as the new communicator itself reports them.
Result<std::vector<int>> gathered(Communicator& group, int value) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(group.size()), -1);
  std::int32_t own = value;
  RINGCOMM_TRY(all_gather(group.channel(), TensorView::contiguous(&own, DType::int32, {1}),
                          TensorView::contiguous(all.data(), DType::int32, {group.size()}))
                   .status());
  return std::vector<int>(all.begin(), all.end());
}

/// The oracle: ranks of `color`, sorted by (key, rank).
std::vector<int> expected(const std::vector<int>& colors, const std::vector<int>& keys, int color) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t rank = 0; rank < colors.size(); ++rank)
    if (colors[rank] == color) pairs.emplace_back(keys[rank], static_cast<int>(rank));
  std::sort(pairs.begin(), pairs.end());
  std::vector<int> members;
  for (const auto& [key, rank] : pairs) members.push_back(rank);
  return members;
}

Status split_and_compare(Communicator& comm, const std::vector<int>& colors, const std::vector<int>& keys) {
  const auto own = static_cast<std::size_t>(comm.rank());
  random_delay(static_cast<std::uint32_t>(own + 17));
  RINGCOMM_TRY_ASSIGN(auto group, comm.split(colors[own], keys[own]));
  if (colors[own] == Communicator::kNoColor) return expect(!group.has_value(), "a group of no color");
  RINGCOMM_TRY(expect(group.has_value(), "no group"));
  const std::vector<int> members = expected(colors, keys, colors[own]);
  RINGCOMM_TRY(expect(group->size() == static_cast<int>(members.size()), "size"));
  RINGCOMM_TRY(expect(members[static_cast<std::size_t>(group->rank())] == comm.rank(), "rank"));
  RINGCOMM_TRY_ASSIGN(const auto found, gathered(*group, comm.rank()));
  return expect(found == members, "members");
}

class SplitTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SplitTest, ColorsGroupAndKeysOrder) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    const auto n = static_cast<std::size_t>(comm.size());
    std::vector<int> same(n, 0), parity(n), alone(n), some(n), down(n);
    for (std::size_t rank = 0; rank < n; ++rank) {
      parity[rank] = static_cast<int>(rank % 2) * 1000000;
      alone[rank] = static_cast<int>(rank);
      some[rank] = rank % 3 == 1 ? Communicator::kNoColor : 7;
      down[rank] = -static_cast<int>(rank);  // negative keys are legal
    }
    for (const auto& colors : {same, parity, alone, some}) {
      for (const auto& keys : {same, down, parity}) RINGCOMM_TRY(split_and_compare(comm, colors, keys));
    }
    return barrier(comm.channel()).status();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SplitTest, ASplitOfASplitWorks) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto half, comm.split(comm.rank() % 2, 0));
    RINGCOMM_TRY_ASSIGN(auto quarter, half->split(half->rank() % 2, -half->rank()));
    RINGCOMM_TRY_ASSIGN(const auto found, gathered(*quarter, comm.rank()));
    for (const int rank : found) RINGCOMM_TRY(expect(rank % 4 == comm.rank() % 4, "a stranger"));
    RINGCOMM_TRY(expect(std::is_sorted(found.rbegin(), found.rend()), "order"));
    RINGCOMM_TRY_ASSIGN(const auto outer, gathered(*half, comm.rank()));
    return expect(std::is_sorted(outer.begin(), outer.end()), "the outer group goes on");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SplitTest, AWrongColorIsNamedOnEveryRankAndHarmsNobody) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    const int culprit = comm.size() - 1;
    const Status got = comm.split(comm.rank() == culprit ? -2 : 1, 0).status();
    RINGCOMM_TRY(expect(got.code() == StatusCode::invalid_argument, got.to_string()));
    RINGCOMM_TRY(expect(got.message().find(concat("rank ", culprit, " gave color -2")) != std::string::npos,
                        got.to_string()));
    RINGCOMM_TRY(comm.health());
    return comm.split(1, 0).status();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SplitTest, FailureOfAGroupIsNotItsParents) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto group, comm.split(comm.rank() / 2, 0));
    if (comm.rank() == 0) group->abort("on purpose");
    const Status waited = barrier(group->channel()).status();
    if (comm.rank() < 2) {
      RINGCOMM_TRY(expect(waited.code() == StatusCode::aborted, waited.to_string()));
    } else {
      RINGCOMM_TRY(waited);  // the other groups do not hear of it
    }
    RINGCOMM_TRY(comm.health());
    RINGCOMM_TRY(barrier(comm.channel()).status());
    RINGCOMM_TRY_ASSIGN(auto again, comm.split(0, 0));
    return barrier(again->channel()).status();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Media, SplitTest, testing::ValuesIn(thread_media()), name_of_case);

TEST(SplitOptionsTest, WhatIsNotSetIsTheParents) {
  CommunicatorOptions options = with_deadline(std::chrono::milliseconds(12'345));
  options.transports = {inproc_transport()};
  const Status status = run_threads(
      4,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto group, comm.split(comm.rank() % 2, 0));
        RINGCOMM_TRY(expect(group->deadline() == std::chrono::milliseconds(12'345), "deadline"));
        RINGCOMM_TRY(expect(group->path_name(1 - group->rank()) == "inproc", "transport"));
        RINGCOMM_TRY(expect(group->counters().arena_bytes == comm.counters().arena_bytes, "arena"));
        RINGCOMM_TRY(expect(group->placement().cpus == comm.placement().cpus, "placement"));
        CommunicatorOptions own;
        own.deadline = std::chrono::milliseconds(777);
        RINGCOMM_TRY_ASSIGN(auto other, comm.split(0, 0, own));
        return expect(other->deadline() == std::chrono::milliseconds(777), "own deadline");
      },
      options);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(SplitOptionsTest, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  CommunicatorOptions options = with_deadline(std::chrono::milliseconds(1500));
  options.transports = {inproc_transport()};
  auto made = Communicator::create_local(3, options);
  ASSERT_TRUE(made.is_ok());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const Status got = made.value()[rank].split(0, 0).status();
      EXPECT_EQ(got.code(), StatusCode::timeout) << got.to_string();
      EXPECT_NE(got.message().find("rank 2"), std::string::npos) << got.to_string();
    });
  }
}

TEST(SplitOptionsTest, ItRunsBesideAStreamOrderedOperation) {
  CommunicatorOptions options = with_deadline(std::chrono::seconds(30));
  options.transports = {inproc_transport()};
  const Status status = run_threads(
      3,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(Stream stream, host_device().create_stream({}));
        CallOptions call;
        call.stream = stream.view();
        const auto before = std::chrono::milliseconds(comm.rank() == 0 ? 50 : 0);
        RINGCOMM_TRY(stream.enqueue(Task([before] {
          std::this_thread::sleep_for(before);
          return Status();
        })));
        RINGCOMM_TRY_ASSIGN(const Work work, barrier(comm.channel(), call));
        RINGCOMM_TRY_ASSIGN(auto group, comm.split(0, 0));
        RINGCOMM_TRY(barrier(group->channel()).status());
        return work.wait(Deadline::after(std::chrono::seconds(30)));
      },
      options);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
