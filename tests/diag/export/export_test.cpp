// SPDX-License-Identifier: Apache-2.0
// What is exported is read back: dumps by our own reader, the trace by a JSON parser.
#include "ringcomm/diag/export.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "diag/evidence/samples.hpp"
#include "diag/record/record_bytes.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/hang_evidence.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

using Json = nlohmann::json;

/// Two ranks did one operation; then rank 0 is alone in the second.
class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    for (int rank = 0; rank < 2; ++rank)
      ranks_.push_back(std::make_unique<test::WritingRank>(dir_.path(), rank, 2));
    for (const auto& rank : ranks_) rank->run();
    ranks_[0]->begin();
    paths_ = {dir_.path()};
  }
  test::TempDir dir_;
  std::vector<std::unique_ptr<test::WritingRank>> ranks_;
  std::vector<std::filesystem::path> paths_;
  std::vector<UnreadFile> unread_;
};

/// Keys of the dump's parts, with the types of their values.
std::map<std::string, std::string> shape_of(const Json& dump) {
  std::map<std::string, std::string> shape;
  const auto add = [&](const std::string& where, const Json& object) {
    for (const auto& item : object.items()) shape[concat(where, item.key())] = item.value().type_name();
  };
  add("", dump);
  add("group.", dump["pg_config"].begin().value());
  add("status.", dump["pg_status"].begin().value());
  add("entry.", dump["entries"][0]);
  return shape;
}

TEST_F(ExportTest, DumpsAreReadBack) {
  const auto files = export_flight_recorder_json(paths_, unread_);
  ASSERT_TRUE(files.is_ok()) << files.status().message();
  EXPECT_TRUE(unread_.empty());
  ASSERT_EQ(files.value().size(), 2U);
  EXPECT_EQ(files.value()[0].name, "rank_0.json");
  const HangEvidence evidence = samples::read(files.value()[0].text, files.value()[0].name);
  EXPECT_TRUE(evidence.unread.empty());
  EXPECT_EQ(evidence.files[0].formats, std::vector<std::string>{"fr_json"});
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].op, OpClass::all_reduce);
  EXPECT_EQ(evidence.ops[0].seq, 1);
  EXPECT_EQ(evidence.ops[0].completed, Tri::yes);
  EXPECT_EQ(evidence.ops[0].dtype, "float");
  EXPECT_EQ(evidence.ops[0].input_sizes, (std::vector<std::vector<std::int64_t>>{{1024}}));
  EXPECT_EQ(evidence.ops[1].seq, 2);
  EXPECT_EQ(evidence.ops[1].completed, Tri::no);
  EXPECT_GT(*evidence.ops[1].created_ns, *evidence.ops[0].created_ns);
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].ranks, (std::vector<int>{0, 1}));
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].group, evidence.groups[0].key);
  EXPECT_EQ(evidence.counters[0].enqueued, 2);
  EXPECT_EQ(evidence.counters[0].completed, 1);
  EXPECT_EQ(samples::read(files.value()[1].text, "rank_1.json").idle.size(), 1U);
}

TEST_F(ExportTest, DumpsHaveTheKeysAndTypesOfTorch) {
  const auto files = export_flight_recorder_json(paths_, unread_);
  ASSERT_TRUE(files.is_ok());
  EXPECT_EQ(shape_of(Json::parse(files.value()[0].text)),
            shape_of(Json::parse(samples::as_json({.calls = {{}}}))));
}

TEST_F(ExportTest, ATraceHasLanesSpansAndArrows) {
  const auto text = export_chrome_trace(paths_, unread_);
  ASSERT_TRUE(text.is_ok()) << text.status().message();
  const Json trace = Json::parse(text.value());
  std::map<std::string, int> names;
  std::set<std::string> lanes;
  std::map<int, std::vector<double>> arrows;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M" && event["name"] == "thread_name")
      lanes.insert(event["args"]["name"].get<std::string>());
    if (phase == "X") {
      ++names[concat(event["pid"].get<int>(), " ", event["tid"].get<int>(), " ",
                     event["name"].get<std::string>(), event["args"].contains("open") ? " open" : "")];
      EXPECT_GE(event["ts"].get<double>(), 0.0);
      EXPECT_GE(event["dur"].get<double>(), 0.0);
    }
    if (phase == "s" || phase == "f") arrows[event["id"].get<int>()].push_back(event["pid"].get<int>());
  }
  EXPECT_EQ(lanes, (std::set<std::string>{"communication", "compute"}));
  EXPECT_EQ(names["0 1 all_reduce"], 1);
  EXPECT_EQ(names["0 1 all_reduce open"], 1);
  EXPECT_EQ(names["1 1 all_reduce"], 1);
  EXPECT_EQ(names["0 1 wait for rank 1"], 1);
  EXPECT_EQ(names["0 1 wait for rank 1 open"], 1);
  EXPECT_EQ(names["1 1 wait for rank 0"], 1);
  EXPECT_EQ(arrows.size(), 2U);
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_NE(ends[0], ends[1]);
  }
}

TEST_F(ExportTest, WhatIsNoRecordIsSaid) {
  const std::vector<std::filesystem::path> none{dir_.path() / "absent"};
  EXPECT_EQ(export_chrome_trace(none, unread_).status().code(), StatusCode::not_found);
  EXPECT_EQ(unread_.size(), 1U);
}

}  // namespace
}  // namespace ringcomm::diag
