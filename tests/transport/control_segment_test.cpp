// SPDX-License-Identifier: Apache-2.0
// Blocks are handed out in plain memory; who still reads is answered by the test.
#include "transport/common/control_segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "ringcomm/plan/plan.hpp"
#include "transport/common/channel_key.hpp"

namespace ringcomm::transport {
namespace {

struct Memory {
  explicit Memory(std::size_t size)
      : bytes(size), data(static_cast<std::byte*>(std::aligned_alloc(4096, size))) {
    std::fill_n(data.get(), bytes, std::byte{0});
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::size_t bytes;
  std::unique_ptr<std::byte, Free> data;
};

bool nobody(int, const ChannelId&) { return false; }
ChannelId id_of(std::uint64_t hash, std::uint32_t generation = 0) {
  return {.key_hash = hash, .generation = generation};
}

TEST(ControlSegmentTest, OpenChannelsAreFoundByHashAndGenerationUntilTheyAreClosed) {
  Memory memory(control_segment_bytes(4));
  ControlSegment segment(memory.data.get(), memory.bytes);
  const auto first = check(segment.open(id_of(11), {0, 1}, 0, nobody));
  const auto second = check(segment.open(id_of(11, 1), {0, 1}, 0, nobody));
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(11)), first.block);
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(11, 1)), second.block);
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(12)), nullptr);
  segment.close(first);
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(11)), nullptr);
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(11), Found::closed), first.block);
  EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(11, 1)), second.block);
}

TEST(ControlSegmentTest, BlocksAreReusedOnlyWhenNoMemberReadsThem) {
  Memory memory(control_segment_bytes(4));
  ControlSegment segment(memory.data.get(), memory.bytes);
  const auto first = check(segment.open(id_of(1), {0, 1, 2}, 0, nobody));
  segment.close(first);
  bool two_reads = true;
  const auto may_read = [&](int rank, const ChannelId& id) {
    return rank == 2 && id == id_of(1) && two_reads;
  };
  EXPECT_NE(check(segment.open(id_of(2), {0, 1}, 0, may_read)).block, first.block);
  two_reads = false;
  first.block->lanes()[0].cells[3].epoch.store(77);
  const auto reused = check(segment.open(id_of(3), {0, 3}, 5, may_read));
  EXPECT_EQ(reused.block, first.block);
  EXPECT_EQ(reused.block->lanes()[0].cells[3].epoch.load(), 5U) << "a reused lane starts like a fresh one";
}

TEST(ControlSegmentTest, TwoHundredAndFiftySixChannelsOfEightRanksFitAndTheLimitIsAnError) {
  Memory memory(control_segment_bytes(8));
  ControlSegment segment(memory.data.get(), memory.bytes);
  EXPECT_LT(channel_block_bytes(8), std::size_t{1} << 20);
  std::vector<int> members{0, 1, 2, 3, 4, 5, 6, 7};
  for (std::uint64_t i = 0; i < 256; ++i)
    ASSERT_TRUE(segment.open(id_of(i + 1), members, 0, nobody).is_ok()) << i;
  const auto refused = segment.open(id_of(999), members, 0, nobody);
  EXPECT_EQ(refused.status().code(), StatusCode::out_of_memory) << refused.status().to_string();
}

TEST(ControlSegmentTest, AnOffsetOutsideTheSegmentIsNotFollowed) {
  Memory memory(control_segment_bytes(2));
  ControlSegment segment(memory.data.get(), memory.bytes);
  (void)check(segment.open(id_of(4), {0, 1}, 0, nobody));
  for (const std::uint64_t offset : {std::uint64_t{1} << 40, std::uint64_t{8}, memory.bytes - 128 + 1}) {
    segment.header().directory[0].offset.store(offset);
    EXPECT_EQ(find_channel(memory.data.get(), memory.bytes, id_of(4)), nullptr) << offset;
  }
}

TEST(ControlSegmentTest, SizeIsBoundedForManyRanks) {
  EXPECT_LE(control_segment_bytes(64), (std::size_t{16} << 20) + sizeof(ControlHeader) + 4096);
  EXPECT_GE(control_segment_bytes(4096), 8 * channel_block_bytes(4096));
}

TEST(ControlLayoutTest, LaneDepthIsThePlans) {
  EXPECT_EQ(kLaneCells, static_cast<std::uint32_t>(plan::kLaneDepth));
}

TEST(ChannelKeyTest, MembersTheirOrderAndTheOrdinalAllCount) {
  const ChannelKey key{.members = {0, 1, 2}, .ordinal = 3};
  EXPECT_EQ(hash_of(key), hash_of(key));
  EXPECT_NE(hash_of(key), hash_of({.members = {1, 0, 2}, .ordinal = 3}));
  EXPECT_NE(hash_of(key), hash_of({.members = {0, 1, 2}, .ordinal = 4}));
  EXPECT_NE(hash_of(key), hash_of({.members = {0, 1}, .ordinal = 2}));
}

}  // namespace
}  // namespace ringcomm::transport
