// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/ras_json.hpp"

#include <gtest/gtest.h>

#include "diag/evidence/json/json_documents.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::diag {
namespace {

std::string member(int rank, int pid, int all_reduces, const std::string& status = R"("async_error": 0)") {
  return concat(R"({"rank": )", rank, R"(, "host": "10.1.0.)", rank, R"(", "pid": )", pid,
                R"(, "cuda_dev": 3, "nvml_dev": 3, "status": {)", status,
                R"(}, "collective_counts": {"Broadcast": 2, "AllReduce": )", all_reduces, "}}");
}
std::string missing(int rank, const std::string& status) {
  // NCCL leaves out the comma before "status".
  return concat("{\"rank\": ", rank,
                ", \"host\": \"10.1.0.9\", \"pid\": 909, \"cuda_dev\": 1, \"nvml_dev\": 1\n \"status\": {",
                status, "}}");
}
std::string report(const std::string& ranks, const std::string& missing_ranks, int size = 3,
                   const std::string& hash = "0xabc") {
  return concat(
      "{\n\"nccl_version\": \"2.29.1\", \"communicators_count\": 1, \"communicators\": [{\"hash\": \"", hash,
      "\", \"size\": ", size, ", \"missing_ranks_count\": 0, \"ranks\": [", ranks, "], \"missing_ranks\": [",
      missing_ranks, "]}], \"ras\": {\"timeouts_count\": 2}}\n");
}
HangEvidence read(const std::string& text) { return read_hang_evidence(text, "ras.json"); }

std::vector<EventKind> kinds(const HangEvidence& evidence) {
  std::vector<EventKind> kinds;
  for (const EventFact& event : evidence.events) kinds.push_back(event.kind);
  return kinds;
}

TEST(RasJsonTest, CountersOfTheRanksAndWhoIsMissing) {
  const HangEvidence evidence = read(report(concat(member(0, 100, 41), ",", member(1, 101, 40)),
                                            missing(2, R"("unresponsive": true, "considered_dead": false)")));
  EXPECT_TRUE(evidence.unread.empty());
  EXPECT_EQ(evidence.files[0].formats, std::vector<std::string>{"ras_json"});
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_EQ(evidence.counters[1].who.group_rank, 1);
  EXPECT_EQ(evidence.counters[1].who.pid, 101);
  EXPECT_EQ(evidence.counters[1].who.gpu, 3);
  EXPECT_EQ(evidence.counters[1].who.host, "10.1.0.1");
  EXPECT_EQ(evidence.counters[1].who.address, "10.1.0.1");
  EXPECT_EQ(evidence.counters[1].group, "0xabc");
  EXPECT_EQ(evidence.counters[1].launches,
            (std::map<std::string, std::int64_t>{{"AllReduce", 40}, {"Broadcast", 2}}));
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].unique_id, "0xabc");
  EXPECT_EQ(evidence.groups[0].size, 3);
  EXPECT_EQ(kinds(evidence), (std::vector{EventKind::version, EventKind::unresponsive}));
  EXPECT_EQ(evidence.events[0].detail, "2.29.1");
  EXPECT_EQ(evidence.events[1].who.group_rank, 2);
  EXPECT_EQ(evidence.events[1].who.pid, 909);
  EXPECT_EQ(evidence.events[1].group, "0xabc");
  EXPECT_EQ(evidence.identities.size(), 3U);
}

TEST(RasJsonTest, WhatTheStatusSays) {
  EXPECT_EQ(kinds(read(report("", missing(2, R"("unresponsive": true, "considered_dead": true)")))),
            (std::vector{EventKind::version, EventKind::considered_dead}));
  EXPECT_EQ(kinds(read(report("", missing(2, "\"x\": 0")))),
            (std::vector{EventKind::version, EventKind::missing_process}));
  EXPECT_EQ(
      kinds(read(report(member(0, 1, 1, R"("init_state": 7, "async_error": 6, "abort_flag": true)"), ""))),
      (std::vector{EventKind::version, EventKind::async_error, EventKind::aborted, EventKind::init_start}));
  EXPECT_EQ(kinds(read(report(
                member(0, 1, 1, R"("init_state": 0, "async_error": 7, "finalize_called": false)"), ""))),
            std::vector{EventKind::version});  // 7: in progress, no error
}

TEST(RasJsonTest, GarbageIsDroppedAndSaid) {
  // As seen with NCCL 2.27.3: ranks far outside of the communicator's size.
  for (const std::string& text :
       {report(member(0, 1, 1), missing(1057455228, "\"unresponsive\": true"), 2),
        report(member(0, 1, 1), "", 0), report(concat(member(0, 1, 1), ",", member(1, 1, 1)), "", 1)}) {
    const HangEvidence evidence = read(text);
    EXPECT_TRUE(evidence.counters.empty());
    EXPECT_EQ(kinds(evidence), std::vector{EventKind::version});
    EXPECT_EQ(evidence.files[0].note, "1 of 1 communicators are no data (ranks outside of their size)");
  }
}

TEST(RasJsonTest, SnapshotsInOneFileAndLinesAround) {
  const std::string text = concat("$ ncclras -f json\nwarning {not json}\n", report(member(0, 1, 5), ""),
                                  "--- later {\n", report(member(0, 1, 6), ""), "bye\n");
  const HangEvidence evidence = read(text);
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_EQ(evidence.counters[0].snapshot, 0);
  EXPECT_EQ(evidence.counters[1].snapshot, 1);
  EXPECT_EQ(evidence.counters[1].launches.at("AllReduce"), 6);
  EXPECT_TRUE(evidence.unread.empty());
}

TEST(RasJsonTest, ATornReportKeepsWholeCommunicators) {
  std::string text = report(member(0, 1, 5), "");
  const std::string second = R"({"hash": "0xdef", "size": 2, "ranks": [)" + member(0, 1, 5);
  text.insert(text.find("], \"ras\""), ", " + second);
  text.resize(text.find(second) + second.size() - 4);
  const HangEvidence evidence = read(text);
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].group, "0xabc");
  EXPECT_NE(evidence.files[0].note.find("report 1 ends early: cut after"), std::string::npos)
      << evidence.files[0].note;
}

TEST(JsonDocumentsTest, BracesAreMatchedOutsideOfStrings) {
  const std::string text = "x {\"a\": \"}{\\\"\", \"k\": {}} y {\"b\": 1} z {\"k\": [";
  const auto pieces = json_objects_with(text, {"\"k\""});
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(text.substr(pieces[0].begin, pieces[0].end - pieces[0].begin), "{\"a\": \"}{\\\"\", \"k\": {}}");
  EXPECT_TRUE(pieces[0].is_whole);
  EXPECT_FALSE(pieces[1].is_whole);
  EXPECT_EQ(pieces[1].end, text.size());
  EXPECT_EQ(without_pieces("a {\"k\"\n} b", {{2, 8, true}}), "a     \n  b");
}

TEST(JsonDocumentsTest, ACutDocumentEndsWhereTheNextBegins) {
  const auto pieces = json_objects_with("{\n \"k\": [1\n{\"k\": 2}\n", {"\"k\""});
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_FALSE(pieces[0].is_whole);
  EXPECT_TRUE(pieces[1].is_whole);
  // Items of a list may stand at the start of a line.
  EXPECT_EQ(json_objects_with("{\"k\": [\n{\"a\": 1},\n{\"a\": 2}]}", {"\"k\""}).size(), 1U);
}

TEST(JsonDocumentsTest, MissingCommasAreAdded) {
  EXPECT_EQ(with_missing_commas("{\"a\": 1\n \"b\": {} \"c\": \"x y\", \"d\": [1, 2]}"),
            "{\"a\": 1, \"b\": {},\"c\": \"x y\", \"d\": [1, 2]}");
}

TEST(JsonDocumentsTest, ManyBracesCostNoMoreThanTheText) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "{\"";
  EXPECT_TRUE(json_objects_with(text, {"\"k\""}).empty());
}

}  // namespace
}  // namespace ringcomm::diag
