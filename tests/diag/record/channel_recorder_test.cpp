// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "diag/record/crc32.hpp"
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

}  // namespace
}  // namespace ringcomm::diag
