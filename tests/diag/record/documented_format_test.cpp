// SPDX-License-Identifier: Apache-2.0
// Reads a record with nothing but the offsets of docs/record-format.md.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "diag/record/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

std::uint64_t number_at(const std::string& bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  return value;
}

std::uint32_t crc_of(const std::string& bytes, std::size_t size) {
  std::uint32_t crc = 0xffffffffU;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= static_cast<unsigned char>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

TEST(DocumentedFormatTest, OffsetsAreThoseOfThePage) {
  const test::TempDir folder;
  test::WritingRank rank(folder.path(), 1, 3, 64);
  for (int i = 0; i < 40; ++i) rank.run();  // 120 entries: the ring has wrapped
  rank.begin();
  const std::string b = rank.bytes();
  EXPECT_EQ(b.substr(0, 8), "RCRECORD");
  EXPECT_EQ(number_at(b, 8, 4), 1U);
  EXPECT_EQ(number_at(b, 12, 4), 360U);
  EXPECT_EQ(number_at(b, 20, 4), 64U);
  EXPECT_EQ(number_at(b, 80, 8), b.size());
  EXPECT_EQ(number_at(b, 88, 8), 7U);
  EXPECT_EQ(number_at(b, 96, 8), 0x1234U);
  EXPECT_EQ(number_at(b, 104, 4), 1U);
  EXPECT_EQ(number_at(b, 108, 4), 3U);
  EXPECT_STREQ(b.c_str() + 224, "inproc");
  EXPECT_EQ(number_at(b, 288, 4), crc_of(b, 288));
  EXPECT_EQ(number_at(b, 292, 4), 1U);
  EXPECT_EQ(number_at(b, 296, 8), 123U);
  ASSERT_EQ(number_at(b, 304, 4), 1U);
  const std::size_t channel = number_at(b, 40, 8);
  const std::size_t names = number_at(b, 56, 8);
  EXPECT_EQ(number_at(b, channel + 4, 4), 3U);
  EXPECT_STREQ(b.c_str() + names + number_at(b, channel + 12, 4), "dp");
  EXPECT_EQ(number_at(b, channel + 16, 4), 41U);
  EXPECT_EQ(number_at(b, channel + 20, 4), 40U);
  EXPECT_STREQ(b.c_str() + names + number_at(b, channel + 28, 4), "train.py:12");
  EXPECT_EQ(number_at(b, channel + 76, 4), 0U);  // waits for rank 0
  EXPECT_EQ(number_at(b, channel + 104, 8), 123U);
  const std::size_t entries = number_at(b, 72, 8);
  for (std::uint64_t n = 123 - 64; n < 123; ++n) {
    const std::size_t entry = entries + 64 * (n % 64);
    ASSERT_EQ(number_at(b, entry, 8), n + 1);
    ASSERT_EQ(number_at(b, entry + 28, 4), n / 3 + 1);  // sequence
    ASSERT_EQ(number_at(b, entry + 58, 1), n % 3 == 0 ? 1U : n % 3 == 1 ? 3U : 2U);
    ASSERT_EQ(number_at(b, entry + 24, 4) != 0, n < 120);  // released
  }
  const std::size_t last = entries + 64 * (122 % 64);
  EXPECT_EQ(number_at(b, last + 40, 4), 0U);  // peer
  EXPECT_EQ(number_at(b, last + 44, 4), 1U);  // block
  EXPECT_EQ(number_at(b, last + 48, 8), 4096U);
}

}  // namespace
}  // namespace ringcomm::diag
