// SPDX-License-Identifier: Apache-2.0
// Which reader gets a text, and what is said of a text that nobody reads.
#include <gtest/gtest.h>

#include "ringcomm/config.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/evidence_readers.hpp"

namespace ringcomm {
namespace {

constexpr std::string_view kLog = "n1:1:2 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n";

std::string message_of(std::string_view text) {
  const auto reading = read_evidence(text, "x.txt");
  return reading.is_ok() ? "ok" : reading.status().to_string();
}

TEST(ReadEvidenceTest, FormatIsRecognisedByContent) {
  const auto reading = read_evidence(kLog, "named_as.xml");
  ASSERT_TRUE(reading.is_ok()) << reading.status().to_string();
  EXPECT_EQ(reading->format, "nccl-log");
  EXPECT_EQ(reading->file, "named_as.xml");
  EXPECT_EQ(reading->job.events.size(), 1U);
}

TEST(ReadEvidenceTest, ByteOrderMarkAndCrLfDoNotMatter) {
  const auto reading = read_evidence("\xEF\xBB\xBFn1:1:2 [0] NCCL INFO NCCL version 2.27.3\r\n", "x.txt");
  ASSERT_TRUE(reading.is_ok());
  ASSERT_EQ(reading->job.events.size(), 1U);
  EXPECT_EQ(reading->job.events[0].value("version"), "2.27.3");
  EXPECT_EQ(reading->job.events[0].host, "n1");
}

TEST(ReadEvidenceTest, WhatIsNoTextSaysWhatToDo) {
  EXPECT_NE(message_of("\x1F\x8B\x08...").find("compressed: gunzip it first"), std::string::npos);
  EXPECT_NE(message_of("\xFF\xFEN\0C\0").find("UTF-16: convert it first (iconv"), std::string::npos);
  EXPECT_NE(message_of("PK\x03\x04zip").find("unzip it first"), std::string::npos);
  EXPECT_NE(message_of(" \n\t").find("x.txt is empty"), std::string::npos);
}

TEST(ReadEvidenceTest, ForeignTextListsTheFormatsAndTheirCommands) {
  for (const std::string_view text : {"hello", "{\"a\": 1}"}) {
    const auto reading = read_evidence(text, "x.txt");
    ASSERT_FALSE(reading.is_ok());
    EXPECT_EQ(reading.status().code(), StatusCode::not_found);
    for (const auto& format : evidence_formats()) {
      EXPECT_NE(reading.status().message().find(format.name), std::string::npos);
      EXPECT_NE(reading.status().message().find(format.made_by), std::string::npos);
    }
  }
}

TEST(ReadEvidenceTest, XmlNeedsPugixml) {
  const auto reading = read_evidence("<?xml version='1.0'?>\n<other/>", "x.xml");
  ASSERT_FALSE(reading.is_ok());
  EXPECT_EQ(reading.status().code(),
            RINGCOMM_HAVE_PUGIXML == 0 ? StatusCode::not_available : StatusCode::not_found);
}

TEST(ReadEvidenceTest, ANamedFormatIsUsedWithoutAsking) {
  EXPECT_TRUE(read_evidence(kLog, "x", "nccl-log").is_ok());
  EXPECT_EQ(read_evidence("hello", "x", "nccl-log").status().code(), StatusCode::corrupt_data);
  const auto unknown = read_evidence(kLog, "x", "nccl-logs");
  EXPECT_EQ(unknown.status().code(), StatusCode::not_found);
  EXPECT_NE(unknown.status().message().find("no reader is called 'nccl-logs'"), std::string::npos);
}

TEST(ReadEvidenceTest, AtMost64MiB) {
  std::string big(topology::kTextBytesMax, ' ');
  big.replace(0, kLog.size(), kLog);
  EXPECT_TRUE(read_evidence(big, "x").is_ok());
  big += ' ';
  EXPECT_NE(message_of(big).find("more than 64 MiB"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm
