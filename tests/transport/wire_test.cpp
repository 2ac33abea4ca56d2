// SPDX-License-Identifier: Apache-2.0
// What is written is read again; what is cut, stretched or random is corrupt_data that names the sender.
#include "transport/message/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::transport::message {
namespace {

std::vector<std::byte> bytes_of(const MessageWriter& writer) {
  return {writer.bytes().begin(), writer.bytes().end()};
}

MessageWriter parcel(std::size_t bytes, std::span<const std::byte> block) {
  MessageWriter writer({.kind = MessageKind::parcel, .channel = 3, .position = 2, .taken = 9});
  writer.add(ParcelBody{.descriptor = {.op = OpCode::all_gather, .sequence = 4}, .bytes = bytes, .tag = 77});
  writer.add_bytes(block.data(), block.size());
  return writer;
}

TEST(WireTest, ParcelsCarrySmallBlocks) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{33}, kInlineBytesMax}) {
    const std::vector<std::byte> block(bytes, std::byte{0x5a});
    const auto written = bytes_of(parcel(bytes, block));
    const auto read = read_message(written, 1);
    ASSERT_TRUE(read.is_ok()) << read.status().to_string();
    EXPECT_EQ(read.value().envelope.kind, MessageKind::parcel);
    EXPECT_EQ(read.value().envelope.channel, 3U);
    EXPECT_EQ(read.value().envelope.position, 2U);
    EXPECT_EQ(read.value().envelope.taken, 9U);
    EXPECT_EQ(read.value().parcel.descriptor.op, OpCode::all_gather);
    EXPECT_EQ(read.value().parcel.bytes, bytes);
    EXPECT_TRUE(std::equal(block.begin(), block.end(), read.value().rest.begin(), read.value().rest.end()));
  }
  const auto large = read_message(bytes_of(parcel(kInlineBytesMax + 1, {})), 1);
  ASSERT_TRUE(large.is_ok());
  EXPECT_EQ(large.value().parcel.tag, 77U);
}

TEST(WireTest, FailuresCarryTheirText) {
  const std::string_view text = "rank 3 did not arrive";
  MessageWriter writer({.kind = MessageKind::failure});
  writer.add(
      FailureBody{.code = static_cast<std::uint32_t>(StatusCode::timeout), .culprit = 3, .reporter = 1});
  writer.add_bytes(text.data(), text.size());
  const auto written = bytes_of(writer);
  const auto read = read_message(written, 1);
  ASSERT_TRUE(read.is_ok());
  const FailureReport report = report_of(read.value());
  EXPECT_EQ(report.status.to_string(), "timeout: rank 3 did not arrive");
  EXPECT_EQ(report.culprit, 3);
  EXPECT_EQ(report.reporter, 1);
}

TEST(WireTest, OtherLengthsAreRefused) {
  const std::vector<std::byte> block(33, std::byte{1});
  const std::vector<std::vector<std::byte>> good{
      bytes_of(parcel(33, block)), bytes_of(MessageWriter({.kind = MessageKind::leave})),
      bytes_of(MessageWriter({.kind = MessageKind::credit})),
      bytes_of(MessageWriter({.kind = MessageKind::open}).add(OpenBody{})),
      bytes_of(MessageWriter({.kind = MessageKind::head}).add(HeadBody{}))};
  for (const auto& whole : good) {
    ASSERT_TRUE(read_message(whole, 1).is_ok());
    for (std::size_t cut = 0; cut < whole.size(); ++cut)
      EXPECT_FALSE(read_message(std::span(whole).first(cut), 1).is_ok()) << cut;
    auto longer = whole;
    longer.push_back(std::byte{0});
    const auto read = read_message(longer, 5);
    EXPECT_EQ(read.status().code(), StatusCode::corrupt_data);
    EXPECT_EQ(read.status().message().find("rank 5 sent"), 0U) << read.status().to_string();
    auto other_version = whole;
    other_version[1] = std::byte{99};
    EXPECT_FALSE(read_message(other_version, 1).is_ok());
  }
}

TEST(WireTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(20'261'129);
  std::vector<std::byte> bytes(200);
  for (int round = 0; round < 20'000; ++round) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    bytes[0] = static_cast<std::byte>(random() % 8);
    bytes[1] = std::byte{kWireVersion};
    const auto read = read_message(std::span(bytes).first(random() % bytes.size()), 0);
    if (!read.is_ok()) continue;
    EXPECT_LE(read.value().rest.size(), bytes.size());
    const bool is_failure = read.value().envelope.kind == MessageKind::failure;
    EXPECT_TRUE(!is_failure || !report_of(read.value()).status.is_ok());
  }
}

}  // namespace
}  // namespace ringcomm::transport::message
