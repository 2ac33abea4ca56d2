// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

#include "diag/evidence/record/record_reader.hpp"
#include "diag/record/record_bytes.hpp"
#include "ringcomm/diag/hang_evidence.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

using test::WritingRank;

HangEvidence read(const std::string& bytes) {
  HangEvidence evidence;
  evidence.files.push_back({.path = "a record"});
  Status status = read_record({.bytes = bytes, .path = "a record"}, evidence);
  if (!status.is_ok()) evidence.unread.push_back({"a record", std::move(status)});
  return evidence;
}

struct RecordReaderTest : testing::Test {
  test::TempDir folder;
};

TEST_F(RecordReaderTest, AWaitingRankIsReadWhole) {
  WritingRank rank(folder.path(), 1, 4);
  for (int i = 0; i < 20; ++i) rank.run();
  rank.begin();
  const HangEvidence evidence = read(rank.bytes());
  ASSERT_TRUE(evidence.unread.empty()) << evidence.unread[0].status.to_string();
  ASSERT_EQ(evidence.files.size(), 1U);
  EXPECT_EQ(evidence.files[0].ranks, std::vector<int>{1});
  EXPECT_EQ(evidence.files[0].note, "");
  EXPECT_EQ(evidence.world_size, 4);
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].name, "dp");
  EXPECT_EQ(evidence.groups[0].ranks, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(evidence.groups[0].unique_id.starts_with("0000000000001234-0-"));
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].enqueued, 21);
  EXPECT_EQ(evidence.counters[0].completed, 20);
  ASSERT_EQ(evidence.ops.size(), 16U);
  const OpFact& open = evidence.ops.back();
  EXPECT_EQ(open.who.rank, 1);
  EXPECT_EQ(open.seq, 21);
  EXPECT_EQ(open.op, OpClass::all_reduce);
  EXPECT_EQ(open.started, Tri::yes);
  EXPECT_EQ(open.completed, Tri::no);
  EXPECT_EQ(open.elements_in, 1024);
  EXPECT_EQ(open.dtype, "float32");
  EXPECT_EQ(open.reduce_op, "sum");
  EXPECT_EQ(open.frames, std::vector<std::string>{"train.py:12"});
  EXPECT_EQ(open.signature, 99U);
  EXPECT_EQ(evidence.ops[0].seq, 6);
  EXPECT_EQ(evidence.ops[14].completed, Tri::yes);
  EXPECT_TRUE(evidence.ops[14].completed_ns.has_value());
  const auto waits = std::find_if(evidence.steps.begin(), evidence.steps.end(),
                                  [](const StepFact& s) { return s.is_incoming && !s.arrived_ns; });
  ASSERT_NE(waits, evidence.steps.end());
  EXPECT_EQ(waits->peer, 0);
  EXPECT_EQ(waits->seq, 21);
  EXPECT_EQ(evidence.steps.size(), 8U);  // of the last four operations
  EXPECT_TRUE(evidence.idle.empty());
  EXPECT_TRUE(evidence.events.empty());
}

TEST_F(RecordReaderTest, ARankWithNothingOpenIsIdle) {
  WritingRank rank(folder.path(), 0, 2);
  rank.run();
  const HangEvidence evidence = read(rank.bytes());
  ASSERT_EQ(evidence.idle.size(), 1U);
  EXPECT_EQ(evidence.idle[0].rank, 0);
  EXPECT_EQ(evidence.counters[0].enqueued, 1);
  EXPECT_EQ(evidence.counters[0].completed, 1);
}

TEST_F(RecordReaderTest, TheFailureIsAnEvent) {
  WritingRank rank(folder.path(), 0, 2);
  rank.sink->leave(rank.begin(), StatusCode::peer_lost);
  rank.recorder->fail(Status::peer_lost("rank 1 has died\x1b[31m"), 1);
  rank.recorder->fail(Status::aborted("later"), 0);
  rank.recorder->close();
  const HangEvidence evidence = read(rank.bytes());
  ASSERT_EQ(evidence.events.size(), 1U);
  EXPECT_EQ(evidence.events[0].kind, EventKind::peer_closed);
  EXPECT_EQ(evidence.events[0].peer.rank, 1);
  EXPECT_EQ(evidence.events[0].detail, "peer_lost");
  EXPECT_EQ(evidence.events[0].text, "rank 1 has died?[31m");
  EXPECT_EQ(evidence.ops.back().completed, Tri::no);
  EXPECT_EQ(evidence.counters[0].completed, 0);
}

TEST_F(RecordReaderTest, RanksOfASplitAreThoseOfTheJob) {
  const RecordIdentity identity{.job = 7,
                                .communicator = 5,
                                .rank = 1,
                                .size = 2,
                                .world_rank = 9,
                                .world_size = 16,
                                .world_ranks = {3, 9}};
  auto recorder = Recorder::create(identity, {.folder = folder.path(), .entries = 64});
  ChannelSink* sink = recorder->open_channel(std::vector<int>{1, 0}, 2, "");
  const Descriptor op{.op = OpCode::broadcast, .sequence = 1, .bytes = 8};
  sink->enter(op, INT64_MAX, "");
  sink->record(Direction::incoming, op, 0, nullptr, OpState::posted);
  const HangEvidence evidence = read(test::bytes_of_file(recorder->path()));
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].ranks, (std::vector<int>{9, 3}));
  EXPECT_EQ(evidence.groups[0].name, "channel 2");
  EXPECT_EQ(evidence.steps.at(0).peer, 3);
  EXPECT_EQ(evidence.steps.at(0).who.rank, 9);
  EXPECT_TRUE(evidence.ops.at(0).frames.empty());
}

TEST_F(RecordReaderTest, ARingThatWrapsKeepsTheOpenOperation) {
  WritingRank rank(folder.path(), 0, 2, 64);
  for (int i = 0; i < 100; ++i) rank.run();
  const Descriptor op = rank.next();
  rank.sink->enter(op, INT64_MAX, "");
  for (int step = 0; step < 500; ++step) {
    Descriptor message = op;
    message.step = step;
    rank.sink->record(Direction::incoming, message, 1, nullptr, OpState::posted);
    rank.sink->record(Direction::incoming, message, 1, nullptr, OpState::arrived);
    rank.sink->record(Direction::incoming, message, 1, nullptr, OpState::released);
  }
  const HangEvidence evidence = read(rank.bytes());
  ASSERT_EQ(evidence.ops.size(), 1U);  // its own entry is gone
  EXPECT_EQ(evidence.ops[0].seq, 101);
  EXPECT_EQ(evidence.ops[0].completed, Tri::no);
  EXPECT_EQ(evidence.ops[0].op, OpClass::all_reduce);
  ASSERT_EQ(evidence.steps.size(), 32U);
  EXPECT_EQ(evidence.steps.back().step, 499);
  EXPECT_EQ(evidence.files[0].note, "");
}

TEST_F(RecordReaderTest, MemoryWrittenUnderItsReaderIsShownHoweverLongAgo) {
  WritingRank rank(folder.path(), 0, 2);
  Descriptor op = rank.next();
  op.step = 3;
  int slot = 0;
  rank.sink->enter(op, INT64_MAX, "");
  rank.sink->record(Direction::outgoing, op, 1, &slot, OpState::posted);
  rank.sink->record(Direction::incoming, op, 1, &slot, OpState::posted);  // before it was given back
  rank.sink->record(Direction::incoming, op, 1, &slot, OpState::arrived);
  rank.sink->record(Direction::outgoing, op, 1, &slot, OpState::released);
  rank.sink->leave(op, StatusCode::ok);
  for (int i = 0; i < 100; ++i) rank.run();
  const HangEvidence evidence = read(rank.bytes());
  const auto early = std::find_if(evidence.steps.begin(), evidence.steps.end(),
                                  [](const StepFact& s) { return s.step == 3 && !s.is_incoming; });
  ASSERT_NE(early, evidence.steps.end());
  const StepFact& late = *(early + 1);
  EXPECT_TRUE(late.is_incoming);
  EXPECT_EQ(late.slot, early->slot);
  EXPECT_EQ(late.epoch, early->epoch + 1);
  EXPECT_LE(late.posted_ns, early->released_ns);
  EXPECT_EQ(evidence.steps.size(), 10U);  // and the eight of the last operations
}

TEST_F(RecordReaderTest, ATornEntryIsLeftOutAndCounted) {
  WritingRank rank(folder.path(), 0, 2);
  rank.run();
  rank.begin();
  std::string bytes = rank.bytes();
  RecordHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(header.entries_offset), 8, '\0');
  const HangEvidence evidence = read(bytes);
  EXPECT_EQ(evidence.files[0].note, "1 entries were being written");
  ASSERT_EQ(evidence.ops.size(), 1U);
  EXPECT_EQ(evidence.ops[0].seq, 2);
}

TEST_F(RecordReaderTest, WhatIsNoRecordIsRefusedWithAReason) {
  WritingRank rank(folder.path(), 0, 2);
  const std::string good = rank.bytes();
  std::string bytes = good;
  bytes[offsetof(RecordHeader, rank)] = 1;
  ASSERT_EQ(read(bytes).unread.size(), 1U);
  EXPECT_EQ(read(bytes).unread[0].status.message(), "the header's checksum is wrong");
  test::fix_checksum(bytes);
  EXPECT_TRUE(read(bytes).unread.empty());
  bytes[offsetof(RecordHeader, rank)] = 2;
  test::fix_checksum(bytes);
  EXPECT_EQ(read(bytes).unread.at(0).status.message(), "the header's numbers contradict one another");
  bytes = good;
  bytes[offsetof(RecordHeader, version)] = 2;
  EXPECT_EQ(read(bytes).unread.at(0).status.message(), "a record of version 2; this program reads 1");
  EXPECT_EQ(read(good.substr(0, 100)).unread.at(0).status.message(), "too short for a record's header");
}

TEST_F(RecordReaderTest, ACutFileIsReadAsFarAsItGoes) {
  WritingRank rank(folder.path(), 0, 2);
  for (int i = 0; i < 5; ++i) rank.run();
  rank.begin();
  const std::string good = rank.bytes();
  RecordHeader header{};
  std::memcpy(&header, good.data(), sizeof header);
  const HangEvidence evidence = read(good.substr(0, header.entries_offset + 4 * sizeof(RecordEntry) + 7));
  EXPECT_TRUE(evidence.files[0].note.starts_with("cut short: has 4 of 1024 entries"))
      << evidence.files[0].note;
  EXPECT_EQ(evidence.counters.at(0).enqueued, 6);
  EXPECT_EQ(evidence.counters.at(0).completed, 5);
  for (std::size_t size = 0; size < good.size(); size = size * 5 / 4 + 1) read(good.substr(0, size));
}

TEST_F(RecordReaderTest, ChangedBytesNeverBreakIt) {
  WritingRank rank(folder.path(), 0, 3, 64);
  for (int i = 0; i < 30; ++i) rank.run();
  rank.begin();
  const std::string good = rank.bytes();
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 8; ++change)
      bytes[random() % (change < 4 ? 700 : bytes.size())] = static_cast<char>(random());
    bytes.replace(0, 20, good, 0, 20);
    test::fix_checksum(bytes);
    const HangEvidence evidence = read(bytes);
    for (const StepFact& step : evidence.steps) ASSERT_LT(step.peer, 1 << 22);
  }
}

}  // namespace
}  // namespace ringcomm::diag
