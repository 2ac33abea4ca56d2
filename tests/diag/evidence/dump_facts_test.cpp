// SPDX-License-Identifier: Apache-2.0
// Each trap of the flight recorder's dumps, in both encodings.
#include <gtest/gtest.h>

#include "diag/evidence/flight_recorder/dump.hpp"
#include "diag/evidence/samples.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::diag {
namespace {

using samples::Call;
using samples::Sample;

constexpr long kSecond = 1'000'000'000;
constexpr long kStart = 1'700'000'000 * kSecond;

/// The same dump as JSON and as pickle.
class DumpFactsTest : public ::testing::TestWithParam<bool> {
 protected:
  static HangEvidence read(const Sample& sample, const std::string& name = "nccl_trace_rank_2") {
    return samples::read(GetParam() ? samples::as_pickle(sample) : samples::as_json(sample), name);
  }
};
INSTANTIATE_TEST_SUITE_P(Encodings, DumpFactsTest, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "pickle" : "json"; });

TEST_P(DumpFactsTest, AnOpenCall) {
  const HangEvidence evidence = read({.status = {{0, 7, -1, 6}}, .calls = {{.seq = 7}}});
  ASSERT_EQ(evidence.files.size(), 1U);
  EXPECT_EQ(evidence.files[0].formats, std::vector<std::string>{GetParam() ? "fr_pickle" : "fr_json"});
  EXPECT_EQ(evidence.files[0].ranks, std::vector<int>{2});
  EXPECT_EQ(evidence.files[0].facts, 3U);
  EXPECT_EQ(evidence.files[0].note, "");
  EXPECT_TRUE(evidence.unread.empty());
  ASSERT_EQ(evidence.ops.size(), 1U);
  const OpFact& op = evidence.ops[0];
  EXPECT_EQ(op.who.rank, 2);
  EXPECT_EQ(op.group, "0");
  EXPECT_EQ(op.op, OpClass::all_reduce);
  EXPECT_EQ(op.name, "nccl:all_reduce");
  EXPECT_EQ(op.seq, 7);
  EXPECT_FALSE(op.p2p_seq.has_value());  // 0 counts the rank's messages, it is none
  EXPECT_EQ(op.input_sizes, (std::vector<std::vector<std::int64_t>>{{4096, 16}, {8}}));
  EXPECT_EQ(op.output_sizes, (std::vector<std::vector<std::int64_t>>{{8192, 16}}));
  EXPECT_EQ(op.dtype, "bfloat16");
  EXPECT_EQ(op.completed, Tri::no);
  EXPECT_EQ(op.created_ns, kStart);
  EXPECT_EQ(op.timeout_ms, 600'000);
  EXPECT_FALSE(op.is_timed_out);
  EXPECT_EQ(op.coalesced, kUnknown);
  // 0 and None: not known, not "at the epoch".
  EXPECT_FALSE(op.started_ns.has_value());
  EXPECT_FALSE(op.completed_ns.has_value());
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].key, "0");
  EXPECT_EQ(evidence.groups[0].description, "default_pg");
  EXPECT_EQ(evidence.groups[0].ranks, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(evidence.groups[0].size, 4);
  EXPECT_EQ(evidence.groups[0].backend, "nccl");
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].group, "0");
  EXPECT_EQ(evidence.counters[0].enqueued, 7);  // JSON prints it as a string
  EXPECT_EQ(evidence.counters[0].completed, 6);
  EXPECT_EQ(evidence.world_size, 4);
  EXPECT_TRUE(evidence.idle.empty());
  ASSERT_EQ(evidence.events.size(), 1U);
  EXPECT_EQ(evidence.events[0].kind, EventKind::version);
  EXPECT_EQ(evidence.events[0].detail, "2.27.5");
}

TEST_P(DumpFactsTest, NoEntriesIsAnIdleRankWithKnownCounters) {
  const HangEvidence evidence = read({.status = {{0, 6, -1, 6}}});
  ASSERT_EQ(evidence.idle.size(), 1U);
  EXPECT_EQ(evidence.idle[0].rank, 2);
  EXPECT_TRUE(evidence.ops.empty());
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].enqueued, 6);
  // "Only active" dumps hide what is done, so counters that differ mean an open call even without entries.
  EXPECT_TRUE(read({.status = {{0, 7, -1, 6}}}).idle.empty());
  // All calls done: idle too.
  const Call done{.state = "completed", .started_ns = kStart + 1, .completed_ns = kStart + 2};
  EXPECT_EQ(read({.status = {{0, 1, -1, 1}}, .calls = {done}}).idle.size(), 1U);
}

TEST_P(DumpFactsTest, ScheduledSaysNothingOfTheDeviceWithoutTiming) {
  HangEvidence evidence = read({.calls = {{}}});
  EXPECT_EQ(evidence.ops[0].started, Tri::unknown);
  EXPECT_FALSE(evidence.counters[0].started.has_value());
  const Call done{.seq = 1, .state = "completed", .started_ns = kStart + 1, .completed_ns = kStart + 2};
  evidence = read({.status = {{0, 2, 1, 1}}, .calls = {done, {.seq = 2}}});
  EXPECT_EQ(evidence.ops[0].started, Tri::yes);
  EXPECT_EQ(evidence.ops[0].completed, Tri::yes);
  EXPECT_EQ(evidence.ops[1].started, Tri::no);
  EXPECT_EQ(evidence.counters[0].started, 1);
  EXPECT_EQ(read({.calls = {{.state = "started"}}}).ops[0].started, Tri::yes);
}

TEST_P(DumpFactsTest, RetiredAndNotCompletedIsATimeout) {
  EXPECT_TRUE(read({.calls = {{.is_retired = true}}}).ops[0].is_timed_out);
  const Call done{.state = "completed", .completed_ns = kStart + kSecond, .is_retired = true};
  EXPECT_FALSE(read({.calls = {done}}).ops[0].is_timed_out);
}

TEST_P(DumpFactsTest, ACompletionAfterTheTimeoutIsNoProgress) {
  const Call late{.seq = 9, .state = "completed", .completed_ns = kStart + 601 * kSecond};
  HangEvidence evidence = read({.status = {{0, 9, -1, 9}}, .calls = {late}});
  EXPECT_TRUE(evidence.ops[0].is_timed_out);
  EXPECT_EQ(evidence.ops[0].completed, Tri::no);
  EXPECT_EQ(evidence.counters[0].completed, 8);
  EXPECT_TRUE(evidence.idle.empty());
  const Call in_time{.seq = 9, .state = "completed", .completed_ns = kStart + 600 * kSecond};
  evidence = read({.status = {{0, 9, -1, 9}}, .calls = {in_time}});
  EXPECT_EQ(evidence.ops[0].completed, Tri::yes);
  EXPECT_EQ(evidence.counters[0].completed, 9);
}

TEST_P(DumpFactsTest, MessagesKeepNoNumberOfACollective) {
  const HangEvidence evidence = read(
      {.groups = {{"39", "PIPELINE", "[2, 10]"}},
       .status = {{6, 5, -1, 4}},
       .calls = {
           {.pg_id = 6, .group = "39", .name = "nccl:send 0->1", .seq = 29, .p2p_seq = 5, .is_p2p = true},
           {.pg_id = 6, .group = "39", .name = "nccl:recv 0<-1", .seq = 29, .p2p_seq = 6, .is_p2p = true}}});
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].op, OpClass::send);
  EXPECT_FALSE(evidence.ops[0].seq.has_value());
  EXPECT_EQ(evidence.ops[0].p2p_seq, 5);
  EXPECT_EQ(evidence.ops[0].who.group_rank, 0);
  EXPECT_EQ(evidence.ops[0].peer, 1);
  EXPECT_EQ(evidence.ops[1].op, OpClass::recv);
  EXPECT_EQ(evidence.ops[1].coalesced, kUnknown);  // other numbers: two calls
}

TEST_P(DumpFactsTest, CallsOfOneNumberAreCoalesced) {
  const auto member = [](const char* name, long number) {
    return Call{.name = name, .seq = 0, .p2p_seq = number, .is_p2p = true};
  };
  const HangEvidence evidence =
      read({.calls = {member("nccl:send 2->3", 1), member("nccl:recv 2<-1", 1), member("nccl:coalesced", 1),
                      member("nccl:send 2->3", 2), Call{.name = "nccl:_all_gather_base", .seq = 1},
                      Call{.name = "nccl:_all_gather_base", .seq = 1}}});
  ASSERT_EQ(evidence.ops.size(), 6U);
  EXPECT_EQ(evidence.ops[0].coalesced, 0);
  EXPECT_EQ(evidence.ops[1].coalesced, 0);
  EXPECT_EQ(evidence.ops[2].coalesced, 0);
  EXPECT_EQ(evidence.ops[2].op, OpClass::coalesced);
  EXPECT_EQ(evidence.ops[3].coalesced, kUnknown);
  EXPECT_EQ(evidence.ops[4].coalesced, 4);  // version 2.7 and later
  EXPECT_EQ(evidence.ops[5].coalesced, 4);
}

TEST_P(DumpFactsTest, NumbersOfGroupsAreLocalToTheRank) {
  // The group "112" has id 7 here; the others have no entry, and are joined by the order of both.
  Sample sample{.groups = {{"0", "default_pg", "[0, 1, 2]"}, {"9", "TP", "[2, 3]"}, {"112", "DP", "[2, 6]"}},
                .status = {{0, 5, -1, 5}, {4, 3, -1, 3}, {7, 8, -1, 7}},
                .calls = {{.pg_id = 7, .group = "112", .description = "DP", .seq = 8}}};
  const auto enqueued_of = [&](const std::string& group) {
    const HangEvidence evidence = read(sample);
    for (const CounterFact& counter : evidence.counters) {
      if (counter.group == group) return counter.enqueued.value_or(-1);
    }
    return std::int64_t{-2};
  };
  EXPECT_EQ(enqueued_of("0"), 5);
  EXPECT_EQ(enqueued_of("9"), 3);
  EXPECT_EQ(enqueued_of("112"), 8);
  // One status fewer than groups: only the part between known pairs whose counts agree is joined.
  sample.status.erase(sample.status.begin() + 1);
  EXPECT_EQ(enqueued_of("0"), 5);
  EXPECT_EQ(enqueued_of("9"), -2);
  EXPECT_EQ(enqueued_of("112"), 8);
}

TEST_P(DumpFactsTest, HashedNamesAreJoinedByElimination) {
  Sample sample{
      .groups = {{"0", "default_pg", "[0, 1, 2]"}, {"a3f", "TP", "[2, 3]"}, {"9c1", "DP", "[2, 6]"}},
      .status = {{0, 5, -1, 5}, {4, 3, -1, 3}, {7, 8, -1, 7}},
      .calls = {{.pg_id = 7, .group = "9c1", .seq = 8}}};
  HangEvidence evidence = read(sample);
  ASSERT_EQ(evidence.counters.size(), 3U);
  EXPECT_EQ(evidence.counters[1].group, "a3f");
  EXPECT_EQ(evidence.counters[1].enqueued, 3);
  // Without the entry two are left: nobody can tell which is which, and it is said.
  sample.calls.clear();
  evidence = read(sample);
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].group, "0");
  EXPECT_EQ(evidence.files[0].note, "the counters of 2 groups have no name");
}

TEST_P(DumpFactsTest, TheRankIsTheOneThatAllGroupsShare) {
  const std::vector<samples::Group> groups{
      {"0", "default_pg", "[0, 1, 2, 3, 4, 5]"}, {"7", "TP", "[1, 5]"}, {"8", "EP", "[5]"}};
  EXPECT_EQ(read({.groups = groups}, "dump_3").files[0].ranks, std::vector<int>{5});
  // The name decides where the groups leave a choice, if it is one of theirs.
  const std::vector<samples::Group> two{{"7", "TP", "[1, 5]"}};
  EXPECT_EQ(read({.groups = two}, "x/rank_5.json").files[0].ranks, std::vector<int>{5});
  EXPECT_EQ(read({.groups = two}, "trace_container-node07_1").files[0].ranks, std::vector<int>{1});
  const HangEvidence evidence = read({.groups = two}, "x/dump_77");
  EXPECT_TRUE(evidence.files[0].ranks.empty());
  EXPECT_EQ(evidence.idle.size() + evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].who.name, "dump_77");
  // A send names its own end.
  EXPECT_EQ(read({.groups = two,
                  .status = {},
                  .calls = {{.group = "7", .name = "nccl:send 1->0", .p2p_seq = 1, .is_p2p = true}}},
                 "dump")
                .files[0]
                .ranks,
            std::vector<int>{5});
}

TEST_P(DumpFactsTest, OtherBackendsAndVersions) {
  for (const char* version : {"1.5", "2.0", "2.4", "2.10", "9"}) {
    const HangEvidence evidence = read({.version = version, .calls = {{.name = "xccl:all_gather"}}});
    ASSERT_EQ(evidence.ops.size(), 1U);
    EXPECT_EQ(evidence.ops[0].op, OpClass::all_gather);
    EXPECT_EQ(evidence.groups[0].backend, "xccl");
  }
}

TEST(DumpTest, FramesAreInnermostFirst) {
  const HangEvidence evidence = samples::read(samples::as_pickle({.calls = {{.has_frames = true}}}));
  EXPECT_EQ(evidence.ops[0].frames,
            (std::vector<std::string>{"torch/c10d.py:2707 all_reduce", "train.py:12 step"}));
}

TEST(DumpTest, VersionOneHasNumbersForNames) {
  const std::string text = R"({"version": "1.1", "entries": [{"record_id": 0, "seq_id": 4, "pg_id": 3,
    "profiling_name": "nccl:all_reduce", "time_created_us": 17, "input_sizes": [[2]], "state": "scheduled"}]})";
  for (const std::string& bytes : {text, samples::json_to_pickle(text)}) {
    const HangEvidence evidence = samples::read(bytes);
    ASSERT_EQ(evidence.ops.size(), 1U);
    EXPECT_EQ(evidence.ops[0].group, "3");
    EXPECT_EQ(evidence.ops[0].seq, 4);
    EXPECT_EQ(evidence.ops[0].created_ns, 17'000);
    ASSERT_EQ(evidence.groups.size(), 1U);
    EXPECT_EQ(evidence.groups[0].key, "3");
    EXPECT_TRUE(evidence.groups[0].ranks.empty());
  }
}

TEST(DumpTest, KeysOfOtherToolsAreReadOrSkipped) {
  const HangEvidence evidence = samples::read(
      R"({"rank": 6, "hostname": "node4", "pid": 77, "extra": {"entries": [{"state": "x"}]}, "host_list": ["a"],
          "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": [0, 6]}}, "pg_status": {}})",
      "dump_3");
  EXPECT_EQ(evidence.files[0].ranks, std::vector<int>{6});
  EXPECT_TRUE(evidence.ops.empty());
  ASSERT_EQ(evidence.identities.size(), 1U);
  EXPECT_EQ(evidence.identities[0].host, "node4");
  EXPECT_EQ(evidence.identities[0].pid, 77);
  EXPECT_EQ(evidence.groups[0].ranks, (std::vector<int>{0, 6}));
}

TEST(DumpTest, ATornDumpKeepsItsWholeEntries) {
  Sample sample{.calls = {{.seq = 1}, {.seq = 2}, {.seq = 3}}};
  for (const bool is_pickle : {false, true}) {
    const std::string whole = is_pickle ? samples::as_pickle(sample) : samples::as_json(sample);
    const std::string third = whole.substr(0, whole.rfind("time_created_ns"));
    const HangEvidence evidence = samples::read(third);
    ASSERT_EQ(evidence.ops.size(), 2U) << is_pickle;
    EXPECT_EQ(evidence.ops[1].seq, 2);
    EXPECT_EQ(evidence.files[0].note, concat("ends inside entry 3 (cut after ", third.size(), " bytes)"));
    EXPECT_TRUE(evidence.unread.empty());
    EXPECT_TRUE(evidence.idle.empty());
    // Each length is read without harm, and an entry appears only when it is whole.
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      const HangEvidence part = samples::read(whole.substr(0, size));
      EXPECT_LE(part.ops.size(), 3U);
      EXPECT_TRUE(part.idle.empty()) << size;  // nothing is known of what was cut off
      for (const OpFact& op : part.ops) EXPECT_FALSE(op.name.empty());
    }
  }
}

TEST(DumpTest, ADumpOfNothingIsMissingEvidence) {
  const std::string pickle = samples::as_pickle({});
  const HangEvidence cut = samples::read(pickle.substr(0, 87), "nccl_trace_rank_3");
  ASSERT_EQ(cut.unread.size(), 1U);
  EXPECT_EQ(cut.unread[0].status.message(), "ends before its first whole entry (cut after 87 bytes)");
  EXPECT_EQ(samples::read("", "nccl_trace_rank_1").unread.at(0).status.message(), "empty (0 bytes)");
  EXPECT_EQ(samples::read("\x80\x02}q", "x").unread.at(0).status.message(), "cut after 4 bytes");
  EXPECT_EQ(samples::read(samples::json_to_pickle(R"({"lr": 1})"), "x").unread.at(0).status.message(),
            "no key of a flight-recorder dump in it");
}

TEST(DumpTest, LimitsAreSaid) {
  const std::string bytes = samples::as_json({.calls = {{.seq = 1}, {.seq = 2}, {.seq = 3}}});
  const HangEvidence evidence = read_hang_evidence(bytes, "rank_0", {.facts_per_file = 2});
  EXPECT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.files[0].note, "has more than 2 entries: the rest was not read");
  EXPECT_TRUE(evidence.idle.empty());
  std::string deep = R"({"pg_status": {}, "x": )" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_NE(samples::read(deep).files[0].note.find("more than 64 deep"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm::diag
