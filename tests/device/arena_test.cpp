// SPDX-License-Identifier: Apache-2.0
// The oracle is a list of live blocks kept beside the arena: no two overlap, and after all are returned the
// whole capacity can be had in one piece again.
#include "ringcomm/device/arena.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "device/fork_util.hpp"

namespace ringcomm {
namespace {

std::shared_ptr<Segment> segment_of(std::size_t bytes) {
  auto segment = Segment::create({.bytes = bytes, .kind = SegmentKind::local});
  EXPECT_TRUE(segment.is_ok()) << segment.status().to_string();
  return segment.value();
}

ArenaBlock take(Arena& arena, std::size_t bytes) {
  auto block = arena.allocate(bytes);
  EXPECT_TRUE(block.is_ok()) << block.status().to_string();
  return block.is_ok() ? std::move(block).value() : ArenaBlock();
}

/// The largest block that fits into a range of `bytes`.
std::size_t payload_of(std::size_t bytes) { return bytes - (Arena::footprint_bytes(64) - 64); }

TEST(ArenaTest, BlocksAreAlignedAndKeepTheBytesAskedFor) {
  Arena arena(segment_of(1 << 16));
  std::vector<ArenaBlock> blocks;
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 4097U}) {
    blocks.push_back(take(arena, bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data()) % 64, 0U);
    EXPECT_EQ(blocks.back().bytes(), bytes);
    EXPECT_TRUE(arena.segment()->contains(blocks.back().data(), bytes));
  }
}

TEST(ArenaTest, RandomTrafficNeverOverlapsAndLeavesNothingBehind) {
  Arena arena(segment_of(1 << 16));
  std::mt19937 random(1);
  std::vector<ArenaBlock> live;
  for (int step = 0; step < 5000; ++step) {
    if (live.empty() || random() % 2 == 0) {
      auto block = arena.allocate(random() % 3000);
      if (!block.is_ok()) continue;
      for (const auto& other : live) {
        ASSERT_TRUE(block->data() + block->bytes() <= other.data() ||
                    other.data() + other.bytes() <= block->data());
      }
      std::memset(block->data(), 1, block->bytes());
      live.push_back(std::move(block).value());
    } else {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    }
  }
  live.clear();
  EXPECT_EQ(arena.used_bytes(), 0U);
  EXPECT_EQ(take(arena, payload_of(arena.capacity_bytes())).bytes(), payload_of(1 << 16));
}

TEST(ArenaTest, NeighboursCoalesceInEveryOrder) {
  for (const auto& order : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    Arena arena(segment_of(1 << 12));
    std::array<ArenaBlock, 3> blocks{take(arena, 100), take(arena, 100), take(arena, 100)};
    for (const int index : order) blocks[static_cast<std::size_t>(index)] = ArenaBlock();
    EXPECT_TRUE(arena.allocate(payload_of(arena.capacity_bytes())).is_ok());
  }
}

TEST(ArenaTest, TakesTheFirstRangeThatFits) {
  Arena arena(segment_of(1 << 12));
  ArenaBlock first = take(arena, 64);
  const ArenaBlock second = take(arena, 64);
  const std::byte* freed = first.data();
  first = ArenaBlock();
  EXPECT_EQ(take(arena, 64).data(), freed);
}

TEST(ArenaTest, RefusalNamesWantedFreeCapacityAndOption) {
  Arena arena(segment_of(1 << 12));
  const ArenaBlock half = take(arena, 2048);
  const Status status = arena.allocate(3000).status();
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  const auto free = std::to_string(4096 - Arena::footprint_bytes(2048));
  for (const auto& part :
       {std::string("3000"), free, std::string("4096"), std::string("RINGCOMM_ARENA_BYTES")}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
  }
  EXPECT_EQ(arena.allocate(SIZE_MAX).status().code(), StatusCode::out_of_memory);
}

TEST(ArenaTest, HighWaterMarkStaysWhenBlocksGo) {
  Arena arena(segment_of(1 << 12));
  {
    const ArenaBlock a = take(arena, 100), b = take(arena, 64);
    EXPECT_EQ(arena.used_bytes(), 128U + 64U);
  }
  const ArenaBlock c = take(arena, 1);
  EXPECT_EQ(arena.used_bytes(), 64U);
  EXPECT_EQ(arena.high_water_bytes(), 192U);
}

TEST(ArenaTest, AMovedBlockIsReturnedOnce) {
  Arena arena(segment_of(1 << 12));
  ArenaBlock a = take(arena, 10);
  ArenaBlock b = std::move(a);
  ArenaBlock c;
  c = std::move(b);
  EXPECT_EQ(arena.used_bytes(), 64U);
  c = take(arena, 20);
  EXPECT_EQ(arena.used_bytes(), 64U);
}

TEST(ArenaTest, ThreadsMayTakeAndReturnAtOnce) {
  Arena arena(segment_of(1 << 16));
  const auto churn = [&arena](unsigned char mark) {
    for (int i = 0; i < 300; ++i) {
      const ArenaBlock block = take(arena, 200);
      std::memset(block.data(), mark, 200);
      for (std::size_t b = 0; b < 200; ++b) ASSERT_EQ(block.data()[b], std::byte{mark});
    }
  };
  std::thread other(churn, static_cast<unsigned char>(1));
  churn(2);
  other.join();
  EXPECT_EQ(arena.used_bytes(), 0U);
}

TEST(ArenaTest, ForkedChildsCopyIsPoisonedAndHarmless) {
  const auto segment = segment_of(1 << 12);
  ASSERT_TRUE(segment->exclude_from_fork().is_ok());
  Arena arena(segment);
  ArenaBlock block = take(arena, 10);
  EXPECT_EQ(exit_code_of_child([&] {
              block = ArenaBlock();
              return arena.allocate(1).status().code() == StatusCode::aborted ? 0 : 1;
            }),
            0);
  EXPECT_EQ(arena.used_bytes(), 64U);
}

#ifndef NDEBUG
TEST(ArenaDebugTest, ReturnedBlockIsFilledWithNan) {
  Arena arena(segment_of(1 << 12));
  ArenaBlock block = take(arena, 64);
  const auto* values = reinterpret_cast<const float*>(block.data());
  std::memset(block.data(), 0, 64);
  block = ArenaBlock();
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(values[i]));
}

TEST(ArenaDebugTest, OverrunAndUnderrunAbortNamingTheBlock) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto write_at = [](std::ptrdiff_t place) {
    Arena arena(segment_of(1 << 12));
    const ArenaBlock block = take(arena, 100);
    block.data()[place] = std::byte{1};
  };
  EXPECT_DEATH(write_at(100), "block of 100 bytes at offset 64: the canary behind");
  EXPECT_DEATH(write_at(191), "canary behind");
  EXPECT_DEATH(write_at(-1), "canary before");
  EXPECT_DEATH(write_at(-64), "canary before");
}
#endif

TEST(ArenaTest, AFrozenArenaLeavesReturnedBlocksAsTheyAre) {
  SegmentOptions options;
  options.bytes = 1 << 16;
  options.kind = SegmentKind::local;
  auto segment = Segment::create(options);
  ASSERT_TRUE(segment.is_ok());
  Arena arena(segment.value());
  const std::byte* first = nullptr;
  {
    auto block = arena.allocate(256);
    ASSERT_TRUE(block.is_ok());
    first = block.value().data();
    block.value().data()[100] = std::byte{42};
    arena.freeze();
  }
  EXPECT_EQ(first[100], std::byte{42}) << "somebody may still read it";
  auto next = arena.allocate(256);
  ASSERT_TRUE(next.is_ok());
  EXPECT_NE(next.value().data(), first);
}

}  // namespace
}  // namespace ringcomm
