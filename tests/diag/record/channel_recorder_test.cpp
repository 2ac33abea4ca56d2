// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "diag/record/crc32.hpp"
#include "diag/record/slot_table.hpp"
#include "diag/record/word.hpp"
#include "ringcomm/diag/recorder.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

/// A record as it lies on disk.
struct Written {
  explicit Written(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    std::memcpy(&header, bytes.data(), sizeof header);
  }
  template <class T>
  T at(std::uint64_t offset, std::uint64_t index) const {
    T value{};
    std::memcpy(&value, bytes.data() + offset + index * sizeof(T), sizeof(T));
    return value;
  }
  ChannelRecord channel(std::uint64_t index) const {
    return at<ChannelRecord>(header.channels_offset, index);
  }
  RecordEntry entry(std::uint64_t index) const { return at<RecordEntry>(header.entries_offset, index); }
  std::int32_t member(std::uint64_t index) const { return at<std::int32_t>(header.members_offset, index); }
  std::string name(std::uint32_t offset) const { return bytes.data() + header.names_offset + offset; }

  std::string bytes;
  RecordHeader header{};
};

struct ChannelRecorderTest : testing::Test {
  test::TempDir folder;
  RecordIdentity identity{.job = 7,
                          .communicator = 9,
                          .rank = 1,
                          .size = 4,
                          .world_rank = 1,
                          .world_size = 4,
                          .transport = "inproc"};
  std::unique_ptr<Recorder> recorder = Recorder::create(identity, {.folder = folder.path(), .entries = 1024});
  const std::vector<int> members{0, 1, 2, 3};
  ChannelSink* sink = recorder->open_channel(members, 0, "ring");
  const Descriptor op{.op = OpCode::ring_rotate,
                      .dtype = DType::bfloat16,
                      .sequence = 5,
                      .bytes = 4096,
                      .signature = 0xabcdef,
                      .step = 1,
                      .block = 2};
  int slot = 0;
};

TEST_F(ChannelRecorderTest, HeaderSaysWhoWrites) {
  const Written written(recorder->path());
  const RecordHeader& h = written.header;
  EXPECT_EQ(std::string_view(h.magic, 8), kRecordMagic);
  EXPECT_EQ(h.checksum,
            crc32(std::as_bytes(std::span(written.bytes.data(), offsetof(RecordHeader, checksum)))));
  EXPECT_EQ(h.file_bytes, written.bytes.size());
  EXPECT_EQ(h.entry_capacity, 1024U);
  EXPECT_EQ(h.job, 7U);
  EXPECT_EQ(h.communicator, 9U);
  EXPECT_EQ(h.rank, 1);
  EXPECT_EQ(h.size, 4);
  EXPECT_STREQ(h.transport, "inproc");
  EXPECT_EQ(h.pid, static_cast<std::uint32_t>(getpid()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(written.member(static_cast<std::uint64_t>(i)), i);
  EXPECT_EQ(written.member(4), 0);
  EXPECT_EQ(written.name(written.channel(0).name), "ring");
}

TEST_F(ChannelRecorderTest, AnOperationWithAMessageEachWay) {
  sink->enter(op, 123, "train.py:7");
  sink->record(Direction::outgoing, op, 2, &slot, OpState::posted);
  sink->record(Direction::incoming, op, 0, nullptr, OpState::posted);
  const Written waiting(recorder->path());
  EXPECT_EQ(waiting.channel(0).posted, 5U);
  EXPECT_EQ(waiting.channel(0).completed, 0U);
  EXPECT_EQ(waiting.channel(0).waits_for, 0);
  EXPECT_EQ(waiting.channel(0).step, 1);
  EXPECT_EQ(waiting.channel(0).deadline_ns, 123);
  EXPECT_EQ(waiting.name(waiting.channel(0).call_site), "train.py:7");
  EXPECT_EQ(waiting.entry(2).arrived, 0U);

  sink->record(Direction::incoming, op, 0, nullptr, OpState::arrived);
  sink->record(Direction::incoming, op, 0, nullptr, OpState::computed);
  sink->record(Direction::incoming, op, 0, nullptr, OpState::released);
  sink->record(Direction::outgoing, op, 2, &slot, OpState::released);
  sink->leave(op, StatusCode::ok);
  const Written done(recorder->path());
  EXPECT_EQ(done.header.entries_written, 3U);
  EXPECT_EQ(done.channel(0).completed, 5U);
  EXPECT_EQ(done.channel(0).waits_for, -1);
  EXPECT_EQ(done.channel(0).entries, 3U);
  const RecordEntry operation = done.entry(0);
  EXPECT_EQ(operation.number, 1U);
  EXPECT_EQ(operation.kind, 1);
  EXPECT_EQ(operation.signature, 0xabcdefU);
  EXPECT_EQ(operation.bytes, 4096U);
  EXPECT_NE(operation.released, 0U);
  const RecordEntry outgoing = done.entry(1);
  EXPECT_EQ(outgoing.kind, 3);
  EXPECT_EQ(outgoing.message.peer, 2);
  EXPECT_EQ(outgoing.message.block, 2);
  EXPECT_EQ(outgoing.epoch & 0xffffffU, 1U);
  EXPECT_NE(outgoing.epoch >> kSlotShift, 0U);
  EXPECT_EQ(outgoing.arrived, 0U);
  EXPECT_NE(outgoing.released, 0U);
  const RecordEntry incoming = done.entry(2);
  EXPECT_EQ(incoming.kind, 2);
  EXPECT_EQ(incoming.epoch, 0U);  // a view
  EXPECT_NE(incoming.arrived, 0U);
  EXPECT_GE(incoming.computed, incoming.arrived);
  EXPECT_GE(incoming.released, incoming.computed);
}

TEST_F(ChannelRecorderTest, StatesOfOneInstantShareItsStamp) {
  Instant first;
  Descriptor next = op;
  next.step = 2;
  sink->record_at(Direction::incoming, op, 0, nullptr, OpState::arrived, first);
  sink->record_at(Direction::incoming, op, 0, nullptr, OpState::computed, first);
  sink->record_at(Direction::incoming, op, 0, nullptr, OpState::released, first);
  sink->record_at(Direction::incoming, next, 0, nullptr, OpState::arrived, first);
  std::this_thread::sleep_for(std::chrono::microseconds(10));
  Instant second;
  sink->record_at(Direction::incoming, next, 0, nullptr, OpState::computed, second);
  const Written written(recorder->path());
  EXPECT_NE(first.ticks, 0U);
  EXPECT_GT(second.ticks, first.ticks);
  EXPECT_EQ(written.entry(0).posted, first.ticks);
  EXPECT_EQ(written.entry(0).computed, 1U);
  EXPECT_EQ(written.entry(0).released, 1U);
  EXPECT_EQ(written.entry(1).posted, first.ticks);
  EXPECT_EQ(written.entry(1).computed, ((second.ticks - first.ticks) >> kTickShift) + 1);
}

TEST_F(ChannelRecorderTest, WhatIsThereAlreadyWasNotWaitedFor) {
  sink->record(Direction::incoming, op, 0, nullptr, OpState::arrived);
  sink->record(Direction::incoming, op, 0, nullptr, OpState::released);
  const Written written(recorder->path());
  EXPECT_EQ(written.header.entries_written, 1U);
  EXPECT_EQ(written.entry(0).arrived, 1U);
  EXPECT_NE(written.entry(0).released, 0U);
  EXPECT_EQ(written.channel(0).waits_for, -1);
  EXPECT_EQ(written.channel(0).waits_since_ticks, 0U);
  EXPECT_EQ(written.channel(0).wait_ticks, 0U);
}

TEST_F(ChannelRecorderTest, MessagesThatNobodyEndsAreGivenUp) {
  Descriptor message = op;
  for (message.step = 0; message.step < 20; ++message.step)
    sink->record(Direction::outgoing, message, 2, &slot, OpState::posted);
  for (const int step : {0, 5, 19}) {
    message.step = step;
    sink->record(Direction::outgoing, message, 2, &slot, OpState::released);
  }
  const Written written(recorder->path());
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(written.entry(i).epoch == 0, i < 4) << i;  // 16 are followed
    EXPECT_EQ(written.entry(i).released != 0, i == 5 || i == 19) << i;
  }
}

TEST_F(ChannelRecorderTest, AWaitEndsAlsoForMessagesThatAreGivenUp) {
  Descriptor message = op;
  for (message.step = 0; message.step < 20; ++message.step)
    sink->record(Direction::incoming, message, 0, &slot, OpState::posted);
  EXPECT_EQ(Written(recorder->path()).channel(0).waits_for, 0);
  for (message.step = 0; message.step < 20; ++message.step)
    sink->record(Direction::incoming, message, 0, &slot, OpState::arrived);
  const Written written(recorder->path());
  EXPECT_EQ(written.channel(0).waits_for, -1);
  EXPECT_EQ(written.header.entries_written, 20U);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(written.entry(i).arrived != 0, i >= 4) << i;
}

TEST_F(ChannelRecorderTest, TimesOfWaitsAndComputesAreSummedOverWhatOverlaps) {
  const auto tell = [&](int peer, OpState state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sink->record(Direction::incoming, op, peer, nullptr, state);
  };
  for (const int peer : {0, 2}) tell(peer, OpState::posted);
  for (const int peer : {0, 2}) tell(peer, OpState::arrived);
  for (const int peer : {0, 2}) tell(peer, OpState::computed);
  const Written written(recorder->path());
  const RecordEntry first = written.entry(0);
  const RecordEntry second = written.entry(1);
  const std::uint64_t between = second.posted - first.posted;
  // From the first wait's begin to the last one's end, and from the first arrival to the last end.
  EXPECT_EQ((written.channel(0).wait_ticks - between) >> kTickShift, second.arrived - 1U);
  const std::uint64_t compute_end =
      written.channel(0).compute_ticks + first.posted + (std::uint64_t{first.arrived - 1U} << kTickShift);
  EXPECT_EQ((compute_end - second.posted) >> kTickShift, second.computed - 1U);
}

TEST(PutStateTest, AStateThatHitsANewerEntryIsTakenBack) {
  RecordEntry entry{};
  entry.number = 5;
  put_state(entry, 5, entry.arrived, 7);
  put_state(entry, 1, entry.computed, 9);
  EXPECT_EQ(entry.arrived, 7U);
  EXPECT_EQ(entry.computed, 0U);
}

TEST(SlotTableTest, ASlotThatIsReadIsNotGivenAway) {
  SlotTable table;
  const auto address = [](std::uintptr_t i) { return reinterpret_cast<const void*>(0x1000 + i * 64); };
  const std::uint32_t held = table.read(address(0), 1);
  ASSERT_NE(held, 0U);
  std::array<std::uint32_t, 256> last{};
  for (std::uint32_t i = 1; i < 10000; ++i) {
    const std::uint32_t word = table.write(address(i), i);
    ASSERT_NE(word, 0U);
    ASSERT_NE(word >> kSlotShift, held >> kSlotShift);
    ASSERT_GT(word, last[word >> kSlotShift]);  // within one slot later is more
    last[word >> kSlotShift] = word;
  }
  EXPECT_EQ(table.write(address(0), 10000), held + 1);
  table.give_back(held);
  bool is_reused = false;
  for (std::uint32_t i = 10001; i < 20000 && !is_reused; ++i)
    is_reused = table.write(address(i), i + 10000) >> kSlotShift == held >> kSlotShift;
  EXPECT_TRUE(is_reused);
}

/// As an overlapped relay: the comm stream's thread posts and receives, the consumer's says the rest.
TEST_F(ChannelRecorderTest, TwoThreadsTellOfOneChannel) {
  constexpr int kMessages = 3000;
  std::atomic<int> arrived{0}, done{0};
  std::jthread consumer([&] {
    Descriptor message = op;
    for (message.step = 0; message.step < kMessages; ++message.step) {
      while (arrived.load(std::memory_order_relaxed) <= message.step) std::this_thread::yield();
      sink->record(Direction::incoming, message, 0, &slot, OpState::computed);
      sink->record(Direction::incoming, message, 0, &slot, OpState::released);
      done.store(message.step + 1, std::memory_order_relaxed);
    }
  });
  Descriptor message = op;
  for (message.step = 0; message.step < kMessages; ++message.step) {
    while (message.step - done.load(std::memory_order_relaxed) >= 8) std::this_thread::yield();
    sink->record(Direction::incoming, message, 0, &slot, OpState::posted);
    sink->record(Direction::outgoing, message, 2, &slot, OpState::posted);
    sink->record(Direction::incoming, message, 0, &slot, OpState::arrived);
    sink->record(Direction::outgoing, message, 2, &slot, OpState::released);
    arrived.store(message.step + 1, std::memory_order_relaxed);
  }
  consumer.join();
  const Written written(recorder->path());
  EXPECT_EQ(written.header.entries_written, 2U * kMessages);
  for (std::uint64_t i = 0; i < 1024; ++i) {
    const RecordEntry entry = written.entry(i);
    EXPECT_NE(entry.released, 0U);
    if (entry.kind != 2) continue;
    EXPECT_GE(entry.computed, entry.arrived);
    EXPECT_GE(entry.released, entry.computed);
  }
}

}  // namespace
}  // namespace ringcomm::diag
