// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/picture.hpp"

#include <gtest/gtest.h>

#include "diag/explain_groups/job_facts.hpp"

namespace ringcomm {
namespace {

using diag::JobPicture;
using diag::Who;
using explain_test::Job;
using explain_test::OpClass;

diag::EventFact event_of(Who who) {
  diag::EventFact event;
  event.kind = diag::EventKind::cuda_error;
  event.who = std::move(who);
  return event;
}

TEST(PictureTest, NamesOfOneProcessAreJoined) {
  Job job(0);
  Who init = Job::who(3);
  init.host = "nodea";
  init.pid = 42;
  init.gpu = 1;
  init.bus_id = "0000:3b:00.0";
  job.evidence.identities.push_back(init);
  Who by_pid, by_bus, by_gpu, stranger;
  by_pid.host = by_gpu.host = stranger.host = "nodea";
  by_pid.pid = 42;
  by_bus.bus_id = "0000:3b:00.0";
  by_gpu.gpu = 1;
  stranger.pid = 43;
  stranger.gpu = 1;
  for (const Who& who : {by_pid, by_bus, by_gpu, stranger}) job.evidence.events.push_back(event_of(who));
  const JobPicture picture = picture_of(job.evidence);
  ASSERT_EQ(picture.ranks.size(), 2u);
  EXPECT_EQ(picture.ranks[0].label, "3");
  EXPECT_EQ(picture.ranks[0].events.size(),
            2u);  // GPU 1 of nodea is the stranger's as well: of nobody for sure
  EXPECT_EQ(picture.ranks[1].label, "process 43 on nodea");
}

TEST(PictureTest, ANumberOfSeveralRanksJoinsNobody) {
  Job job(0);
  for (const int rank : {0, 1}) {  // the launcher's pid in front of every line
    Who who = Job::who(rank);
    who.pid = 18593;
    job.evidence.identities.push_back(who);
  }
  Who who;
  who.pid = 18593;
  const JobPicture picture = picture_of(job.evidence);
  EXPECT_EQ(picture.find(who), diag::kUnknown);
}

TEST(PictureTest, GroupRanksAreFoundThroughTheMembers) {
  Job job(8);
  job.group("9", {4, 5, 6, 7}, "expert");
  Who who;
  who.group_rank = 2;
  const JobPicture picture = picture_of(job.evidence);
  const int at = picture.find(who, "9");
  ASSERT_NE(at, diag::kUnknown);
  EXPECT_EQ(picture.ranks[static_cast<std::size_t>(at)].label, "6");
}

TEST(PictureTest, KeysAreLocalToARank) {
  // The same group has another key on each rank; two groups share a name with members of their own.
  Job job(4);
  for (int rank = 0; rank < 4; ++rank) {
    job.view(rank, "tp", rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3});
    job.evidence.groups.back().key = std::to_string(11 + rank);
    job.counts(rank, std::to_string(11 + rank), 10 + rank, 10);
  }
  const JobPicture picture = picture_of(job.evidence);
  ASSERT_EQ(picture.groups.size(), 2u);
  EXPECT_EQ(picture.groups[1].members[1].enqueued, 13);
  EXPECT_EQ(picture.groups[0].label, "tp");
}

TEST(PictureTest, LinesWithoutMembersJoinTheGroupOfThatName) {
  Job job(2);
  job.group("0", {0, 1}, "default_pg");
  job.view(1, "0", {}, "default_pg");
  job.evidence.groups.back().source.file = 7;
  const JobPicture picture = picture_of(job.evidence);
  EXPECT_EQ(picture.groups.size(), 1u);
}

TEST(PictureTest, GpusStandInForRanksOnOneHostOnly) {
  Job one(0), two(0);
  for (int gpu = 0; gpu < 2; ++gpu) {
    Who who;
    who.host = "nodea";
    who.pid = 100 + gpu;
    who.gpu = gpu;
    one.evidence.events.push_back(event_of(who));
    who.host = gpu == 0 ? "nodea" : "nodeb";
    two.evidence.events.push_back(event_of(who));
  }
  EXPECT_EQ(picture_of(one.evidence).ranks[1].label, "1");
  EXPECT_TRUE(picture_of(one.evidence).ranks[1].is_rank_from_gpu);
  EXPECT_EQ(picture_of(two.evidence).ranks[1].label, "process 101 on nodeb");
}

TEST(PictureTest, OperationsOfUnnamedLinesBelongToTheGroupThatIsStuckThere) {
  Job job(1, "watchdog_log");
  job.view(0, "0", {}, "default_pg").view(0, "9", {}, "expert");
  job.counts(0, "0", 5, 4).counts(0, "9", 70, 69);
  job.open(0, "", 70);
  const JobPicture picture = picture_of(job.evidence);
  ASSERT_EQ(picture.groups.size(), 2u);
  EXPECT_EQ(picture.groups[1].members[0].open.size(), 1u);
}

TEST(PictureTest, TheOrderOfFactsDoesNotMatter) {
  Job job(3);
  job.group("0", {0, 1, 2}, "default_pg");
  for (int rank = 0; rank < 3; ++rank) job.counts(rank, "0", rank == 1 ? 4 : 5, 4);
  for (const int rank : {0, 2}) job.open(rank, "0", 5);
  const diag::Verdict forward = explain(job.evidence);
  std::reverse(job.evidence.groups.begin(), job.evidence.groups.end());
  std::reverse(job.evidence.counters.begin(), job.evidence.counters.end());
  std::reverse(job.evidence.ops.begin(), job.evidence.ops.end());
  const diag::Verdict backward = explain(job.evidence);
  EXPECT_EQ(forward.kind, backward.kind);
  EXPECT_EQ(forward.culprits, backward.culprits);
  EXPECT_EQ(forward.victims, backward.victims);
  EXPECT_EQ(forward.title, backward.title);
}

}  // namespace
}  // namespace ringcomm
