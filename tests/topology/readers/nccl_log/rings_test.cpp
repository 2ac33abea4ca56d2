// SPDX-License-Identifier: Apache-2.0
// Rings and graphs as NCCL prints them, line by line.
#include <gtest/gtest.h>

#include "topology/readers/nccl_log.hpp"

namespace ringcomm::topology {
namespace {

Reading read(std::string_view text) { return nccl_log::read(text, "x.log").value(); }

TEST(NcclLogRingsTest, BothErasOfRingLines) {
  const auto job = read(
                       "n:1:2 [0] NCCL INFO Channel 01/24 : 0 3 2 1\n"
                       "n:1:2 [0] NCCL INFO Ring 02 :    0   1   2   3\n"
                       "n:1:2 [0] NCCL INFO Channel 03 :    0   2\n")
                       .job;
  ASSERT_EQ(job.rings.size(), 3U);
  EXPECT_EQ(job.rings[0].channel, 1);
  EXPECT_EQ(job.rings[0].order, (std::vector<int>{0, 3, 2, 1}));
  EXPECT_EQ(job.rings[0].where, (Where{"x.log", 1}));
  EXPECT_EQ(job.rings[0].channels, 24);
  EXPECT_FALSE(job.rings[1].channels.has_value());
  EXPECT_EQ(job.rings[1].channel, 2);
  EXPECT_EQ(job.rings[1].order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(job.rings[2].order, (std::vector<int>{0, 2}));
}

TEST(NcclLogRingsTest, NeighboursOfAllRanksAreARing) {
  const auto reading = read(
      "n:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 2\nn:1:3 [1] NCCL INFO Ring 00 : 2 -> 1 -> 0\n"
      "n:1:4 [2] NCCL INFO Ring 00 : 0 -> 2 -> 1\nn:1:4 [2] NCCL INFO Ring 01 : 1 -> 2 -> 0\n");
  ASSERT_EQ(reading.job.rings.size(), 1U);
  EXPECT_EQ(reading.job.rings[0].order, (std::vector<int>{0, 2, 1}));
  ASSERT_EQ(reading.skipped.size(), 1U);
  EXPECT_EQ(reading.skipped[0].reason, "1 ranks told their neighbours, which is no whole ring");
  const auto two = read(
      "n:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\nn:1:3 [1] NCCL INFO Ring 00 : 0 -> 1 -> 0\n"
      "n:1:4 [2] NCCL INFO Ring 00 : 2 -> 0 -> 2\n");
  EXPECT_TRUE(two.job.rings.empty());
}

TEST(NcclLogRingsTest, ARingThatIsCutIsNotBelieved) {
  const auto reading = read(
      "node01:1:2 [0] NCCL INFO a\n"
      "node01:1:2 [0] NCCL INFO Channel 01/24 : 0 3 2node01:1:2 [1] NCCL INFO b\n");
  EXPECT_TRUE(reading.job.rings.empty());
  ASSERT_FALSE(reading.skipped.empty());
  EXPECT_EQ(reading.skipped[0].reason, "a ring that is cut");
}

TEST(NcclLogRingsTest, GraphsOfEveryRankAreOne) {
  const auto job = read(
                       "n:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.000000/19.500000, "
                       "type NVL/PIX, sameChannels 0\n"
                       "n:1:3 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.000000/19.500000, "
                       "type NVL/PIX, sameChannels 0\n"
                       "n:1:3 [1] NCCL INFO Pattern 1, crossNic 1, nChannels 2, speed 6.0/0.0, type 2/3\n")
                       .job;
  ASSERT_EQ(job.graphs.size(), 2U);
  EXPECT_EQ(job.graphs[0].pattern, 4);
  EXPECT_EQ(job.graphs[0].channels, 12);
  EXPECT_EQ(job.graphs[0].cross_nic, 0);
  EXPECT_EQ(job.graphs[0].intra_gb_per_s, 20.0);
  EXPECT_EQ(job.graphs[0].inter_gb_per_s, 19.5);
  EXPECT_EQ(job.graphs[0].intra_class, PathClass::nvl);
  EXPECT_EQ(job.graphs[0].inter_class, PathClass::pix);
  EXPECT_EQ(job.graphs[1].intra_gb_per_s, 6.0);
  EXPECT_FALSE(job.graphs[1].inter_gb_per_s.has_value());
  EXPECT_EQ(job.graphs[1].intra_class, PathClass::unknown);
}

}  // namespace
}  // namespace ringcomm::topology
