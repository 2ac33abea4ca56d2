// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor export as a user runs it, on the records of two ranks: what it writes is read by others.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "diag/record/record_bytes.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/hang_evidence.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::doctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kUsage = 64;

/// Rank 0 is alone in its second operation.
class DoctorExportTest : public ::testing::Test {
 protected:
  DoctorExportTest() {
    for (int rank = 0; rank < 2; ++rank)
      ranks_.push_back(std::make_unique<test::WritingRank>(folder_.path() / "records", rank, 2));
    for (const auto& rank : ranks_) rank->run();
    ranks_[0]->begin();
  }
  test::ProgramResult run(const std::string& arguments) const {
    return test::run_program(
        concat("env -C ", folder_.path().string(), " " RINGCOMM_BIN_DIR "/ringcomm-doctor ", arguments));
  }
  json json_of(const std::string& name) const {
    return json::parse(std::ifstream(folder_.path() / name), nullptr, false);
  }
  test::TempDir folder_;
  std::vector<std::unique_ptr<test::WritingRank>> ranks_;
};

/// Keys of an object of a dump with the types of their values; a number is a number, signed or not.
std::map<std::string, std::string> types_of(const json& object) {
  std::map<std::string, std::string> types;
  for (const auto& item : object.items()) types[item.key()] = item.value().type_name();
  return types;
}

TEST_F(DoctorExportTest, DumpsAreReadBack) {
  const auto exported = run("export --format fr-json records -o dumps");
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  EXPECT_EQ(exported.output, "2 dumps in dumps\n");
  const std::vector<fs::path> dumps{folder_.path() / "dumps"};
  const auto evidence = diag::read_hang_evidence(dumps);
  EXPECT_TRUE(evidence.unread.empty());
  ASSERT_EQ(evidence.files.size(), 2U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(evidence.files[rank].formats, std::vector<std::string>{"fr_json"});
    EXPECT_EQ(evidence.files[rank].ranks, std::vector<int>{static_cast<int>(rank)});
  }
  ASSERT_EQ(evidence.ops.size(), 3U);
  EXPECT_EQ(evidence.ops[1].who.rank, 0);
  EXPECT_EQ(evidence.ops[1].seq, 2);
  EXPECT_EQ(evidence.ops[1].completed, diag::Tri::no);
  EXPECT_EQ(evidence.ops[2].completed, diag::Tri::yes);
}

TEST_F(DoctorExportTest, TheDumpsTellWhatTheRecordsTell) {
  ASSERT_EQ(run("export --format fr-json records -o dumps").exit_code, 0);
  const auto verdict = run("hang --json dumps");
  const json value = json::parse(verdict.output, nullptr, false);
  ASSERT_FALSE(value.is_discarded()) << verdict.output;
  EXPECT_EQ(value["culprit_ranks"], json({1})) << verdict.output;
  EXPECT_EQ(value["seq"], "2");
}

TEST_F(DoctorExportTest, KeysAndTypesAreThoseOfPublishedDumps) {
  const fs::path root = fs::path(RINGCOMM_SOURCE_DIR) / "../shared/data/hangs";
  if (!fs::exists(root)) GTEST_SKIP() << "shared/data/hangs is not here";
  ASSERT_EQ(run("export --format fr-json records -o dumps").exit_code, 0);
  const json own = json_of("dumps/rank_0.json");
  ASSERT_FALSE(own.is_discarded());
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (path.find("-fr-json-") == std::string::npos || entry.path().extension() != ".json") continue;
    const json published = json::parse(std::ifstream(path), nullptr, false);
    if (!published.is_object() || !published.contains("entries")) continue;
    SCOPED_TRACE(path);
    EXPECT_EQ(types_of(own), types_of(published));
    EXPECT_EQ(types_of(own["pg_config"].front()), types_of(published["pg_config"].front()));
    EXPECT_EQ(types_of(own["pg_status"].front()), types_of(published["pg_status"].front()));
    EXPECT_EQ(types_of(own["entries"][0]), types_of(published["entries"][0]));
    EXPECT_EQ(own["entries"][0]["process_group"].size(), published["entries"][0]["process_group"].size());
    ++compared;
  }
  EXPECT_GT(compared, 4);
}

TEST_F(DoctorExportTest, TraceHasAProcessForEachRank) {
  const auto exported = run("export records -o trace.json");  // chrome is the default
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  EXPECT_EQ(exported.output, "trace.json: open it in ui.perfetto.dev\n");
  const json trace = json_of("trace.json");
  ASSERT_FALSE(trace.is_discarded());
  std::map<int, int> operations;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "all_reduce") ++operations[event["pid"].get<int>()];
  }
  EXPECT_EQ(operations, (std::map<int, int>{{0, 2}, {1, 1}}));
}

TEST_F(DoctorExportTest, WhatIsNoRecordIsNamed) {
  std::ofstream(folder_.path() / "records" / "notes.txt") << "hello\n";
  const auto some = run("export records -o trace.json");
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_NE(some.output.find("records/notes.txt: "), std::string::npos) << some.output;
  EXPECT_FALSE(json_of("trace.json").is_discarded());
  const auto none = run("export absent -o none.json");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_FALSE(fs::exists(folder_.path() / "none.json"));
  EXPECT_EQ(run("export records -o absent/trace.json").exit_code, 3);
}

TEST_F(DoctorExportTest, WrongUseEndsWith64) {
  for (const char* arguments :
       {"export", "export records", "export -o out", "export --format csv records -o out"})
    EXPECT_EQ(run(arguments).exit_code, kUsage) << arguments;
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

/// As printed, but for the folder of the live records.
TEST_F(DoctorExportTest, ExamplesOfTheHelpRun) {
  const auto help = run("export --help");
  EXPECT_EQ(help.exit_code, 0);
  std::istringstream stream(help.output);
  int examples = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find("  ringcomm-doctor ");
    if (at != 0) continue;
    const std::string live = "/dev/shm/ringcomm-0";
    if (const std::size_t folder = line.find(live); folder != std::string::npos)
      line.replace(folder, live.size(), "records");
    EXPECT_EQ(run(line.substr(std::string("  ringcomm-doctor ").size())).exit_code, 0) << line;
    ++examples;
  }
  EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace ringcomm::doctor
