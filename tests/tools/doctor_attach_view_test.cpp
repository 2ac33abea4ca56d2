// SPDX-License-Identifier: Apache-2.0
// What attach shows of ranks that are written down by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "attach_view.hpp"
#include "core/terminal_text.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

using nlohmann::json;

diag::LiveRank rank_of(int rank, std::int64_t posted) {
  diag::LiveRank out;
  out.job = 1;
  out.communicator = 2;
  out.rank = out.world_rank = rank;
  out.size = out.world_size = 3;
  out.pid = 100 + rank;
  out.host = "node01";
  out.transport = "shm";
  out.command = "python train.py";
  out.process = diag::ProcessState::sleeping;
  out.resident_high_water_bytes = std::uint64_t{1} << (20 + rank);
  diag::LiveGroup group;
  group.name = "tp";
  group.unique_id = "2:0";
  group.ranks = {0, 1, 2};
  group.posted = posted;
  group.completed = 77;
  group.op = "all_reduce";
  group.dtype = "bfloat16";
  group.bytes = 1 << 20;
  group.is_open = posted > 77;
  group.step = 3;
  group.waits_for = posted > 77 ? 2 : diag::kUnknown;
  group.age_ns = 4'200'000'000;
  group.waiting_share = 0.123;
  group.compute_share = 0.5;
  out.groups = {group};
  return out;
}

AttachView three_ranks() {
  AttachView view;
  view.ranks = {rank_of(0, 78), rank_of(1, 78), rank_of(2, 77)};
  view.ranks[2].process = diag::ProcessState::stopped;
  return view;
}

TEST(DoctorAttachViewTest, ShowsWhoIsWhereAndWhoIsBehind) {
  EXPECT_EQ(attach_text(three_ranks(), 100, false),
            "python train.py: 3 of 3 ranks on node01 over shm\n"
            "Group tp: ranks 0-2\n"
            "  rank pid state   called done lag call                            step peer for   wait% comp%\n"
            "  0    100         78     77       in all_reduce 1 MiB bfloat16    3    2    4.2 s 12    50   \n"
            "  1    101         78     77       in all_reduce 1 MiB bfloat16    3    2    4.2 s 12    50   \n"
            "  2    102 STOPPED 77     77   1   after all_reduce 1 MiB bfloat16           4.2 s 12    50   \n"
            "Memory:   largest process 4 MiB (rank 2), arena 0 B, windows 0 B of one rank, at most so far\n"
            "State:    it moves\n");
}

TEST(DoctorAttachViewTest, StandstillIsExplained) {
  AttachView view = three_ranks();
  view.has_moved = false;
  view.verdict.kind = diag::FaultKind::rank_unresponsive;
  view.verdict.grade = diag::Grade::likely;
  view.verdict.title = "rank 2 is stopped";
  view.verdict.fix = "kill -CONT 102";
  view.verdict.graph = {{"0", "2", "tp", "all_reduce 78"}, {"1", "2", "tp", "all_reduce 78"}};
  const std::string text = attach_text(view, 100, false);
  for (const char* line :
       {"Waits:    ranks 0, 1 --> rank 2 in all_reduce 78 of group tp\n",
        "State:    nothing has moved between two looks",
        "Verdict:  rank_unresponsive (likely): rank 2 is stopped\n", "Fix:      kill -CONT 102\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  const json value = json::parse(attach_json(view));
  EXPECT_FALSE(value["moves"].get<bool>());
  EXPECT_EQ(value["fault_kind"], "rank_unresponsive");
  EXPECT_EQ(value["graph"].size(), 2U);
  EXPECT_EQ(value["ranks"][2]["process"], "stopped");
  EXPECT_EQ(value["ranks"][2]["groups"][0]["behind"], 1);
  EXPECT_TRUE(value["ranks"][2]["groups"][0]["waits_for"].is_null());
  EXPECT_TRUE(json::parse(attach_json(three_ranks()))["fault_kind"].is_null());
}

TEST(DoctorAttachViewTest, AnyProgressOfAnyRankIsMovement) {
  const auto before = three_ranks().ranks;
  EXPECT_FALSE(has_moved(before, before));
  const auto changed = [&](auto change) {
    auto now = before;
    change(now[1].groups[0]);
    return has_moved(before, now);
  };
  EXPECT_TRUE(changed([](diag::LiveGroup& group) { ++group.posted; }));
  EXPECT_TRUE(changed([](diag::LiveGroup& group) { ++group.completed; }));
  EXPECT_TRUE(changed([](diag::LiveGroup& group) { ++group.step; }));
  EXPECT_TRUE(changed([](diag::LiveGroup& group) { ++group.entries; }));
  EXPECT_FALSE(changed([](diag::LiveGroup& group) { ++group.age_ns; }));
  EXPECT_TRUE(has_moved({}, before));
}

TEST(DoctorAttachViewTest, LargeGroupsShowThoseWhoAreBehind) {
  AttachView view;
  for (int rank = 0; rank < 100; ++rank) view.ranks.push_back(rank_of(rank, rank == 61 ? 70 : 78));
  const std::string text = attach_text(view, 100, false);
  EXPECT_NE(text.find("  61   161"), std::string::npos) << text;
  EXPECT_NE(text.find("... 76 more (--verbose)"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 100U) << line;
  EXPECT_EQ(attach_text(view, 100, true).find("more (--verbose)"), std::string::npos);
}

TEST(DoctorAttachViewTest, JobsAreListedWithAProcessToChoose) {
  auto ranks = three_ranks().ranks;
  ranks.push_back(rank_of(0, 1));
  ranks.back().job = 9;
  ranks.back().pid = 4711;
  ranks.back().command = "perf";
  EXPECT_EQ(job_list(ranks), "  --pid 100  python train.py, 3 processes\n  --pid 4711  perf, 1 process\n");
}

}  // namespace
}  // namespace ringcomm::doctor
