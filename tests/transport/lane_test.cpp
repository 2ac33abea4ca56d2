// SPDX-License-Identifier: Apache-2.0
// Two lane ends in one thread: every count is stepped by hand, also across the wrap of 32 bits.
#include "transport/common/lane.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace ringcomm::transport {
namespace {

struct Pair {
  explicit Pair(std::uint32_t first_epoch) {
    reset_lane(*a_words, first_epoch);
    reset_lane(*b_words, first_epoch);
    a = Lane(*a_words, *b_words, first_epoch, FutexScope::threads);
    b = Lane(*b_words, *a_words, first_epoch, FutexScope::threads);
  }
  std::unique_ptr<PeerLanes> a_words = std::make_unique<PeerLanes>();
  std::unique_ptr<PeerLanes> b_words = std::make_unique<PeerLanes>();
  Lane a, b;
};

void post(Lane& lane, std::uint32_t sequence, ParcelKind kind = ParcelKind::offer) {
  lane.post({.op = OpCode::all_gather, .sequence = sequence}, {}, kind);
}

class LaneTest : public testing::TestWithParam<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Epochs, LaneTest, testing::Values(0U, 0x7ffffff0U, 0xfffffff0U, 0xffffffffU));

TEST_P(LaneTest, ParcelsArriveInOrderAndCellsAreReusedAfterTheyAreTaken) {
  Pair pair(GetParam());
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_FALSE(pair.b.has_parcel());
    ASSERT_TRUE(pair.a.has_room());
    post(pair.a, i);
    ASSERT_TRUE(pair.b.has_parcel());
    ASSERT_EQ(pair.b.front().descriptor.sequence, i);
    pair.b.consume();
  }
}

TEST_P(LaneTest, EightParcelsFitAndTheNinthDoesNot) {
  Pair pair(GetParam());
  for (std::uint32_t i = 0; i < kLaneCells; ++i) {
    ASSERT_TRUE(pair.a.has_room()) << i;
    post(pair.a, i);
  }
  EXPECT_FALSE(pair.a.has_room());
  EXPECT_FALSE(
      has_reached(pair.a.awaited_word(Sleeping::on_taken).load(), pair.a.awaited_epoch(Sleeping::on_taken)));
  pair.b.consume();
  EXPECT_TRUE(
      has_reached(pair.a.awaited_word(Sleeping::on_taken).load(), pair.a.awaited_epoch(Sleeping::on_taken)));
  EXPECT_TRUE(pair.a.has_room());
}

TEST_P(LaneTest, AReclaimedOfferMakesRoomWithoutALookAtTheTakenLine) {
  Pair pair(GetParam());
  for (std::uint32_t i = 0; i < kLaneCells; ++i) post(pair.a, i);
  for (std::uint32_t i = 0; i < kLaneCells; ++i) {
    pair.b.consume();
    pair.b.count_take();
  }
  pair.b_words->taken.taken.store(GetParam());
  EXPECT_FALSE(pair.a.has_room());
  pair.b.release({});
  ASSERT_TRUE(pair.a.is_released());
  pair.a.reclaim();
  EXPECT_TRUE(pair.a.has_room());
}

TEST_P(LaneTest, ReleasesComeBackInOrderWithTheNoteOfTheLast) {
  Pair pair(GetParam());
  for (std::uint32_t round = 0; round < 40; ++round) {
    const Descriptor first{.op = OpCode::barrier, .sequence = 2 * round, .signature = 5};
    const Descriptor second{.op = OpCode::barrier, .sequence = 2 * round + 1, .signature = 6};
    post(pair.a, 2 * round);
    post(pair.a, 2 * round + 1);
    for (int i = 0; i < 2; ++i) {
      pair.b.consume();
      pair.b.count_take();
    }
    EXPECT_FALSE(pair.a.is_released());
    pair.b.release(first);
    ASSERT_TRUE(pair.a.is_released());
    EXPECT_TRUE(pair.a.agrees_on_release(first));
    ASSERT_FALSE(pair.a.agrees_on_release(second));
    EXPECT_EQ(pair.a.refused_release(second).sequence, first.sequence);
    EXPECT_EQ(pair.a.refused_release(second).signature, first.signature);
    pair.b.release(second);
    EXPECT_TRUE(pair.a.agrees_on_release(second)) << "the note of an earlier release is gone";
    pair.a.reclaim();
    ASSERT_TRUE(pair.a.is_released());
    EXPECT_TRUE(pair.a.agrees_on_release(second));
    EXPECT_FALSE(pair.a.agrees_on_release(first));
    pair.a.reclaim();
    EXPECT_FALSE(pair.a.is_released());
    EXPECT_EQ(pair.a.unreclaimed(), 0U);
    EXPECT_EQ(pair.b.unreleased(), 0U);
  }
}

TEST_P(LaneTest, SendsAreDoneWhenAllOfThemWereReceived) {
  Pair pair(GetParam());
  EXPECT_TRUE(pair.a.are_sends_received());
  post(pair.a, 1, ParcelKind::send);
  post(pair.a, 2, ParcelKind::offer);
  post(pair.a, 3, ParcelKind::send);
  pair.b.complete_receive();
  EXPECT_FALSE(pair.a.are_sends_received());
  pair.b.complete_receive();
  EXPECT_TRUE(pair.a.are_sends_received());
  EXPECT_EQ(pair.a.unreclaimed(), 1U);
}

TEST(SharedDescriptorTest, IsNotReadWhileItsOwnerWrites) {
  SharedDescriptor shared{};
  Descriptor seen{};
  write_shared(shared, {.op = OpCode::barrier, .sequence = 9});
  ASSERT_TRUE(try_read_shared(shared, seen));
  EXPECT_EQ(seen.sequence, 9U);
  shared.version.store(3);
  EXPECT_FALSE(try_read_shared(shared, seen));
}

TEST(SharedDescriptorTest, IsNeverSeenHalfWritten) {
  SharedDescriptor shared{};
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    for (std::uint32_t i = 0; !is_over.load(std::memory_order_relaxed); ++i)
      write_shared(shared, {.sequence = i, .bytes = i, .signature = i, .step = static_cast<std::int32_t>(i)});
  });
  int seen = 0;
  for (int attempt = 0; attempt < 20'000'000 && seen < 200'000; ++attempt) {
    Descriptor d{};
    if (!try_read_shared(shared, d)) continue;
    ++seen;
    if (d.bytes != d.sequence || d.signature != d.sequence ||
        d.step != static_cast<std::int32_t>(d.sequence)) {
      ADD_FAILURE() << "torn after " << seen << " reads: " << d.sequence << " " << d.bytes << " "
                    << d.signature;
      break;
    }
  }
  is_over.store(true, std::memory_order_relaxed);
  writer.join();
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace ringcomm::transport
