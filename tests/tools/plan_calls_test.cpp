// SPDX-License-Identifier: Apache-2.0
// Schedule files: what each word becomes, and how wrong ones are refused.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "call_file.hpp"
#include "check_calls.hpp"
#include "test_paths.hpp"

namespace ringcomm::planner {
namespace {

plan::CallSchedule read(const std::string& text) {
  auto schedule = read_call_file(text, "x.json");
  EXPECT_TRUE(schedule.is_ok()) << schedule.status().to_string();
  return schedule.is_ok() ? schedule.value() : plan::CallSchedule{};
}
std::string refused(const std::string& text) {
  const auto schedule = read_call_file(text, "x.json");
  return std::string(schedule.is_ok() ? "accepted" : schedule.status().message());
}
std::string one_call(const std::string& call) {
  return R"({"ranks": 4, "grid": [["tp", 2], ["cp", 2]], "programs": [{"ranks": [1], "calls": [)" + call +
         "]}]}";
}
plan::ScheduledCall call_of_rank_1(const std::string& call) {
  const auto schedule = read(one_call(call));
  EXPECT_EQ(schedule.calls.at(1).size(), 1U);
  return schedule.calls.at(1).at(0);
}

TEST(PlanCallsTest, AGridMakesFamiliesWithTheFirstAxisFastest) {
  const auto schedule = read(R"({"ranks": 8, "grid": [["tp", 2], ["cp", 4]], "programs": []})");
  ASSERT_EQ(schedule.groups.size(), 6U);
  EXPECT_EQ(schedule.groups[0].name, "tp[0]");
  EXPECT_EQ(schedule.groups[0].members, (std::vector{0, 1}));
  EXPECT_EQ(schedule.groups[3].members, (std::vector{6, 7}));
  EXPECT_EQ(schedule.groups[4].name, "cp[0]");
  EXPECT_EQ(schedule.groups[4].members, (std::vector{0, 2, 4, 6}));
  EXPECT_EQ(schedule.groups[5].members, (std::vector{1, 3, 5, 7}));
  EXPECT_EQ(schedule.calls.size(), 8U);
}

TEST(PlanCallsTest, GroupsAndTheirAttributes) {
  const auto schedule = read(R"({"ranks": 4, "grid": [["tp", 2], ["cp", 2]], "programs": [],
    "groups": {"cp": {"slots": 2, "made_by": "members"}, "dp": [[0, 3], [2, 1]], "one": [3]}})");
  ASSERT_EQ(schedule.groups.size(), 7U);
  EXPECT_EQ(schedule.groups[0].slots, 0);
  EXPECT_EQ(schedule.groups[3].slots, 2);
  EXPECT_TRUE(schedule.groups[3].is_made_by_members);
  EXPECT_EQ(schedule.groups[5].name, "dp[1]");
  EXPECT_EQ(schedule.groups[5].members, (std::vector{2, 1}));
  EXPECT_EQ(schedule.groups[6].name, "one");
}

TEST(PlanCallsTest, EveryWordOfACall) {
  const auto call = call_of_rank_1(
      R"({"op": "reduce", "group": "cp", "bytes": 64, "dtype": "bf16", "reduce": "sum", "root": 3, "stream": "s",
          "at": "a.py:1"})");
  EXPECT_EQ(call.kind, plan::CallKind::collective);
  EXPECT_EQ(call.group, 3) << "cp[1] of rank 1";
  EXPECT_EQ(call.bytes, 64U);
  EXPECT_EQ(call.op + call.dtype + call.reduce_op + call.root + call.stream + call.at,
            "reducebf16sum3sa.py:1");
  const auto sync = call_of_rank_1(R"({"op": "sync", "stream": "s"})");
  EXPECT_EQ(sync.kind, plan::CallKind::sync);
  EXPECT_EQ(sync.awaited, "s");
  const auto wait = call_of_rank_1(R"({"op": "wait", "stream": "s", "for": "t"})");
  EXPECT_EQ(wait.kind, plan::CallKind::stream_wait);
  EXPECT_EQ(wait.stream + wait.awaited, "st");
}

TEST(PlanCallsTest, PeersByRankAndByDistance) {
  EXPECT_EQ(call_of_rank_1(R"({"op": "send", "group": "cp", "to": 3})").peer, 3);
  EXPECT_EQ(call_of_rank_1(R"({"op": "send", "group": "tp", "to": "+1"})").peer, 0);
  EXPECT_EQ(call_of_rank_1(R"({"op": "recv", "group": "cp", "from": "-3"})").peer, 3);
  EXPECT_EQ(call_of_rank_1(R"({"op": "recv", "group": "cp", "from": "-3"})").kind, plan::CallKind::recv);
}

TEST(PlanCallsTest, RepeatsBatchesAndCreations) {
  const auto schedule = read(one_call(R"({"op": "create", "group": "cp"},
    {"repeat": 2, "calls": [{"batch": [{"op": "send", "group": "cp", "to": "+1"}, {"op": "recv", "group": "cp", "from": "-1"}]},
                            {"op": "all_reduce", "group": "tp"}]})"));
  const auto& calls = schedule.calls.at(1);
  ASSERT_EQ(calls.size(), 8U);
  EXPECT_EQ(calls[0].group, 2) << "a rank makes all groups of the family";
  EXPECT_EQ(calls[1].group, 3);
  EXPECT_EQ(calls[2].batch, calls[3].batch);
  EXPECT_NE(calls[2].batch, plan::kNone);
  EXPECT_EQ(calls[4].batch, plan::kNone);
  EXPECT_NE(calls[5].batch, calls[2].batch) << "batches are not glued together";
  const auto own = read(R"({"ranks": 2, "groups": {"g": {"members": [[0], [1]], "made_by": "members"}},
    "programs": [{"ranks": "all", "calls": [{"op": "create", "group": "g"}]}]})");
  ASSERT_EQ(own.calls[1].size(), 1U);
  EXPECT_EQ(own.calls[1][0].group, 1);
}

TEST(PlanCallsTest, WrongFilesAreRefusedWithTheirPlace) {
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_NE(refused(text).find(words), std::string::npos) << refused(text);
  };
  expect("{", "x.json: not JSON");
  expect("[]", "not a JSON object");
  expect("{}", "\"ranks\"");
  expect(R"({"ranks": 0, "programs": []})", "1 to 65536");
  expect(R"({"ranks": 2})", "no list \"programs\"");
  expect(R"({"ranks": 2, "program": []})", "unknown key \"program\"; did you mean \"programs\"?");
  expect(R"({"ranks": 3, "grid": [["tp", 2]], "programs": []})", "2 places for 3 ranks");
  expect(R"({"ranks": 2, "groups": {"g": [[0], [0]]}, "programs": []})", "rank 0 is in two groups of g");
  expect(R"({"ranks": 2, "groups": {"g": ["a"]}, "programs": []})", "is not a rank");
  expect(R"({"ranks": 2, "groups": {"g": [-1]}, "programs": []})", "is not a rank");
  expect(R"({"ranks": 2, "groups": {"g": {"slots": 1}}, "programs": []})", "no members");
  expect(R"({"ranks": 1, "programs": [{"ranks": [4], "calls": []}]})", "no rank below 1");
  expect(one_call("7"), "programs[0].calls[0]: is 7, not an object");
  expect(one_call(R"({"group": "tp"})"), "has no \"op\"");
  expect(one_call(R"({"op": "x"})"), "has no \"group\"");
  expect(one_call(R"({"op": "x", "group": "tpp"})"), "did you mean \"tp\"?");
  expect(one_call(R"({"op": "x", "group": "tp[1]"})"), "rank 1 is in no group tp[1]");
  expect(one_call(R"({"op": "x", "group": "tp", "bytes": -1})"), "\"bytes\" is -1");
  expect(one_call(R"({"op": "send", "group": "tp"})"), "has no \"to\"");
  expect(one_call(R"({"op": "send", "group": "tp", "to": "1"})"), "neither a rank nor a distance");
  expect(one_call(R"({"op": "wait", "stream": "a"})"), "\"for\"");
  expect(one_call(R"({"repeat": 524288, "calls": [{"repeat": 524288, "calls": []}]})"), "too long");
  expect(one_call(R"({"repeat": 500000, "calls": [{"op": "sync"}, {"op": "sync"}]})"),
         "more than 524288 calls");
  std::string deep = R"({"op": "sync"})";
  for (int i = 0; i < 10; ++i) deep = R"({"repeat": 1, "calls": [)" + deep + "]}";
  expect(one_call(deep), "8 deep");
  expect(std::string((std::size_t{16} << 20) + 1, ' '), "at most 16 MiB");
}

TEST(PlanCallsTest, TornFilesAreRefusedAndTheKeptOnesAreRead) {
  for (const char* name : {"grid.json", "circle.json"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(RINGCOMM_SOURCE_DIR "/tests/fuzz/corpus/schedule/") + name).rdbuf();
    const std::string whole = text.str();
    ASSERT_GT(whole.size(), 100U);
    EXPECT_TRUE(read_call_file(whole, name).is_ok()) << refused(whole);
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7)
      EXPECT_NE(refused(whole.substr(0, size)), "accepted") << size;
  }
}

TEST(PlanCallsTest, ReportsAsTextAndJson) {
  plan::ScheduleReport report;
  report.sentence = "free of deadlock";
  EXPECT_EQ(to_text(report), "PROVED    free of deadlock\n");
  report.fault = plan::ScheduleFault::deadlock;
  report.sentence = "deadlock: x";
  report.lines.push_back({.rank = 2, .call = 5, .waits_for = 3, .text = "rank 2 waits"});
  report.fix = "do it";
  EXPECT_EQ(to_text(report), "NOT SAFE  deadlock: x\n          rank 2 waits\nFix       do it\n");
  const std::string json = to_json(report);
  EXPECT_NE(json.find("\"fault\": \"deadlock\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"waits_for\": 3"), std::string::npos) << json;
  report.lines.assign(30, report.lines[0]);
  EXPECT_NE(to_text(report).find("and 6 more (--json has all)"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm::planner
