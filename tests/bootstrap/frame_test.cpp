// SPDX-License-Identifier: Apache-2.0
// Frames cut at every place come out whole; 20,000 seeded random and damaged byte strings must give a fault
// or wait for more, never more memory than they have bytes.
#include "bootstrap/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "bootstrap/hello.hpp"
#include "bootstrap/network_ranks.hpp"
#include "bootstrap/tcp_group.hpp"

namespace ringcomm::bootstrap {
namespace {

using Fault = FrameReader::Fault;

Bytes frame_of(FrameKind kind, std::span<const std::byte> payload) {
  FrameHeader header;
  header.kind = kind;
  header.sequence = 7;
  return *make_frame(header, payload);
}

TEST(FrameTest, IsPutTogetherFromPiecesOfAnySize) {
  const auto payload = test::contribution(3, 37);
  Bytes stream = frame_of(FrameKind::contribution, payload);
  const Bytes second = frame_of(FrameKind::give_up, {});
  stream.insert(stream.end(), second.begin(), second.end());
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader(100);
    std::vector<Bytes> found;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t end = std::min(stream.size(), (at / piece + 1) * piece);
      at += reader.feed(std::span(stream).subspan(at, end - at));
      if (reader.is_complete()) {
        EXPECT_EQ(reader.header().sequence, 7U);
        found.push_back(reader.take());
      }
      ASSERT_EQ(reader.fault(), Fault::none);
    }
    ASSERT_EQ(found.size(), 2U) << piece;
    EXPECT_EQ(found[0], payload);
    EXPECT_EQ(found[1], Bytes{});
  }
}

TEST(FrameTest, WhatIsNoFrameIsFoundAtItsFirstWrongByte) {
  FrameReader http(100);
  EXPECT_EQ(http.feed(test::bytes_of("G")), 1U);
  EXPECT_EQ(http.fault(), Fault::magic);
  Bytes other = frame_of(FrameKind::hello, {});
  other[3] = std::byte{'9'};
  FrameReader version(100);
  version.feed(other);
  EXPECT_EQ(version.fault(), Fault::version);
  const auto large = frame_of(FrameKind::contribution, test::contribution(0, 101));
  FrameReader length(100);
  EXPECT_EQ(length.feed(large), sizeof(FrameHeader));
  EXPECT_EQ(length.fault(), Fault::length);
  EXPECT_FALSE(length.is_complete());
}

TEST(FrameTest, RandomAndDamagedBytesNeverHurt) {
  std::mt19937 random(11);
  const Bytes whole = frame_of(FrameKind::hello, test::contribution(1, sizeof(Hello)));
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = i % 2 == 0 ? whole : Bytes(random() % 300);
    if (i % 2 == 1) {
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    }
    for (unsigned flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    }
    bytes.resize(random() % (bytes.size() + 1));
    FrameReader reader(sizeof(Hello));
    const std::size_t taken = reader.feed(bytes);
    EXPECT_LE(taken, bytes.size());
    EXPECT_LE(reader.payload().size(), bytes.size());
    if (!reader.is_complete()) continue;
    EXPECT_EQ(reader.fault(), Fault::none);
    const auto hello = read_hello(reader.payload());
    EXPECT_FALSE(hello && is_proved(*hello, secret_of("s"), Nonce{}));
    EXPECT_FALSE(read_roster(reader.payload(), 3).has_value());
    (void)split_gathered(reader.payload(), 2);
    (void)read_reason(reader.header(), reader.payload());
  }
}

TEST(FrameTest, GatheredPartsMustFillTheAnswerExactly) {
  const auto with_length = [](std::uint32_t length, std::size_t bytes) {
    Bytes part(sizeof(length) + bytes);
    std::memcpy(part.data(), &length, sizeof(length));
    return part;
  };
  Bytes two = with_length(3, 3);
  const Bytes second = with_length(0, 0);
  two.insert(two.end(), second.begin(), second.end());
  ASSERT_TRUE(split_gathered(two, 2).has_value());
  EXPECT_EQ(split_gathered(two, 2)->at(0).size(), 3U);
  for (const int ranks : {0, 1, 3}) EXPECT_FALSE(split_gathered(two, ranks).has_value()) << ranks;
  for (std::size_t cut = 0; cut < two.size(); ++cut) {
    EXPECT_FALSE(split_gathered(std::span(two).first(cut), 2).has_value()) << cut;
  }
  EXPECT_FALSE(split_gathered(with_length(0xFFFFFFFF, 8), 1).has_value());
}

TEST(FrameTest, AReasonKeepsItsCodeAndLosesItsControlCharacters) {
  const auto frame = reason_frame(Status::peer_lost("rank 1\n\x1b[31m died"));
  FrameReader reader(4096);
  reader.feed(*frame);
  ASSERT_TRUE(reader.is_complete());
  const Status back = read_reason(reader.header(), reader.payload());
  EXPECT_EQ(back.code(), StatusCode::peer_lost);
  EXPECT_EQ(back.message(), "rank 1  [31m died");
  FrameHeader odd = reader.header();
  odd.code = 999;
  EXPECT_EQ(read_reason(odd, {}).code(), StatusCode::aborted);
}

}  // namespace
}  // namespace ringcomm::bootstrap
