// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/evidence_text/read_text_of.hpp"

namespace ringcomm::diag {
namespace {

const std::string kTable =
    "NCCL version 2.27.5 compiled with CUDA 12.9\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n";

TEST(RasTest, RanksThatAreNotListedHaveTheCountOfTheOthers) {
  const auto evidence =
      evidence_of(kTable +
                  "    0         1         1         4         4         4   RUNNING  MISMATCH\n"
                  "Warnings\n========\n"
                  "#0-0 (27a0) MISMATCH\n"
                  "  Communicator ranks have different AllReduce operation counts\n"
                  "  3 ranks have launched up to operation 50\n"
                  "  1 ranks have launched up to operation 48\n"
                  "  Rank 2 -- GPU 2 managed by process 77 on node 10.0.0.1\n");
  ASSERT_EQ(evidence.counters.size(), 4U);
  for (const CounterFact& counter : evidence.counters) {
    ASSERT_EQ(counter.launches.count("AllReduce"), 1U);
    EXPECT_EQ(counter.launches.at("AllReduce"), counter.who.rank == 2 ? 48 : 50);
  }
  EXPECT_EQ(evidence.counters[0].who.pid, 77);
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].unique_id, "27a0");
  EXPECT_EQ(evidence.groups[0].size, 4);
}

TEST(RasTest, TwoReportsInOneFileAreTwoSnapshots) {
  const std::string report = kTable +
                             "    0         1         1         2         2         2   RUNNING  MISMATCH\n"
                             "#0-0 (27a0) MISMATCH\n"
                             "  Communicator ranks have different AllReduce operation counts\n"
                             "  1 ranks have launched up to operation 50\n"
                             "  1 ranks have launched up to operation 48\n"
                             "  Rank 1 -- GPU 1 managed by process 77 on node 10.0.0.1\n";
  const auto evidence = evidence_of(report + "\n" + report);
  ASSERT_EQ(evidence.counters.size(), 4U);
  EXPECT_EQ(evidence.counters[0].snapshot, 0);
  EXPECT_EQ(evidence.counters[3].snapshot, 1);
}

TEST(RasTest, AMissingRankIsNamedAndGarbageIsDropped) {
  const auto evidence =
      evidence_of(kTable +
                  "    0         1         1         1         2         1   RUNNING  INCOMPLETE\n"
                  "    1         4         0         0         0         0    NOCOMM  INCOMPLETE,MISMATCH\n"
                  "Errors\n======\n"
                  "INCOMPLETE\n"
                  "  Missing communicator data from 1 job process\n"
                  "  Process 41 on node 10.0.1.2 managing GPU 0\n"
                  "#0-0 (b339) INCOMPLETE\n"
                  "  Missing communicator data from 1 rank\n"
                  "  Rank 1 -- GPU 0 managed by process 41 on node 10.0.1.2\n"
                  "#1-0 (93d7) INCOMPLETE\n"
                  "  Missing communicator data from 255 ranks\n"
                  "  Rank 1057455228 -- [process information not found]\n");
  const auto missing = events_of(evidence, EventKind::missing_process);
  ASSERT_EQ(missing.size(), 1U);  // the process and the rank are one
  EXPECT_EQ(missing[0].who.group_rank, 1);
  EXPECT_EQ(missing[0].who.pid, 41);
  EXPECT_EQ(missing[0].who.address, "10.0.1.2");
  EXPECT_EQ(missing[0].group, "#0-0");
  EXPECT_EQ(evidence.groups.size(), 1U);
  EXPECT_NE(evidence.files[0].note.find("garbage"), std::string::npos);
}

TEST(RasTest, TheDeadAreToldApart) {
  const auto evidence =
      evidence_of(kTable +
                  "    0         1         1         1         2         2   RUNNING  INCOMPLETE\n"
                  "DEAD\n"
                  "  1 job process is considered dead (unreachable via the RAS network)\n"
                  "  Process 41 on node n7 managing GPU 3\n");
  const auto dead = events_of(evidence, EventKind::considered_dead);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].who.host, "n7");
  EXPECT_EQ(dead[0].who.gpu, 3);
}

TEST(RasTest, TheJobIsAsLargeAsItsSummarySays) {
  const auto evidence = evidence_of(
      "NCCL version 2.26.2 compiled with CUDA 12.4\nJob summary\n===========\n"
      "  Nodes  Processes         GPUs  Processes     GPUs\n"
      "(total)   per node  per process    (total)  (total)\n"
      "      4          8            1         32       32\n");
  EXPECT_EQ(evidence.world_size, 32);
}

}  // namespace
}  // namespace ringcomm::diag
