// SPDX-License-Identifier: Apache-2.0
// The oracle is docs/hang-schema.json; and what is not known is null, never 0 or "".
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "../perf/json_schema.hpp"
#include "hang_input.hpp"
#include "hang_json.hpp"
#include "progress.hpp"
#include "test_paths.hpp"

namespace ringcomm::doctor {
namespace {

using nlohmann::json;

std::string violations_of(const json& value) {
  const json schema = json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/hang-schema.json"));
  std::string out;
  for (const std::string& violation : test::violations(schema, value)) out += violation + "\n";
  return out;
}

TEST(DoctorHangJsonTest, UnknownIsNullAndRanksAreNumbers) {
  diag::Verdict verdict;
  verdict.culprits = {"3", "GPU 3 of nodeb", "007", "-1", "99999999999"};
  diag::GroupState group;
  group.members.push_back({.rank = "0"});
  verdict.groups = {group};
  verdict.cycle = {{"0", "1", "", ""}};
  verdict.evidence = {{{"a.log", 0}, "text\xff", ""}};
  diag::HangEvidence evidence;
  evidence.files = {{.path = "a\xff.log"}};
  evidence.unread.push_back({"b", Status::corrupt_data("broken")});
  const json value = json::parse(hang_json(verdict, evidence, 3));
  EXPECT_EQ(violations_of(value), "");
  EXPECT_EQ(value["culprit_ranks"], json({3, "GPU 3 of nodeb", "007", "-1", "99999999999"}));
  for (const char* key : {"group", "op", "seq", "title", "counter_check", "fix", "world_size"})
    EXPECT_TRUE(value[key].is_null()) << key;
  for (const char* key : {"enqueued", "started", "completed", "op"})
    EXPECT_TRUE(value["groups"][0]["members"][0][key].is_null()) << key;
  EXPECT_TRUE(value["groups"][0]["size"].is_null());
  EXPECT_TRUE(value["evidence"][0]["line"].is_null());
  EXPECT_EQ(value["evidence"][0]["text"], "text\xef\xbf\xbd");
  EXPECT_EQ(value["unread"][0], json({{"file", "b"}, {"reason", "broken"}}));
}

TEST(DoctorHangJsonTest, EveryKindFollowsTheSchema) {
  for (int kind = 0; kind <= static_cast<int>(diag::FaultKind::insufficient_evidence); ++kind) {
    diag::Verdict verdict;
    verdict.kind = static_cast<diag::FaultKind>(kind);
    EXPECT_EQ(violations_of(json::parse(hang_json(verdict, {}, exit_code_of(verdict.kind)))), "");
  }
}

TEST(DoctorHangInputTest, FactsOfASecondEvidenceKeepTheirFiles) {
  diag::HangEvidence first, second;
  first.files = {{.path = "a"}, {.path = "b"}};
  second.files = {{.path = "c"}};
  second.ops.push_back({});
  second.ops.back().source = {0, 7};
  second.events.push_back({});  // of no file
  second.world_size = 4;
  append(first, second);
  ASSERT_EQ(first.files.size(), 3U);
  EXPECT_EQ(first.ops.back().source.file, 2);
  EXPECT_EQ(first.ops.back().source.line, 7);
  EXPECT_EQ(first.events.back().source.file, diag::kUnknown);
  EXPECT_EQ(first.world_size, 4);
}

TEST(DoctorProgressTest, SpeaksOnlyWhenItTakesLong) {
  testing::internal::CaptureStderr();
  { const Progress progress("reading", std::chrono::hours(1)); }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  {
    const Progress progress("reading", std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("reading (0 s)\n"), 0U);
}

}  // namespace
}  // namespace ringcomm::doctor
