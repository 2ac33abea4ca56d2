// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor hang as a user runs it: on the examples of the docs, on pastes, and on what is no evidence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../perf/json_schema.hpp"
#include "ringcomm/core/text.hpp"
#include "screen.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::doctor {
namespace {

using nlohmann::json;

const std::string kDoctor = RINGCOMM_BIN_DIR "/ringcomm-doctor";
const std::string kExamples = RINGCOMM_SOURCE_DIR "/docs/examples";

test::ProgramResult hang(const std::string& arguments) {
  return test::run_program(concat(kDoctor, " hang ", arguments));
}

/// A whole shell command line, pipes and all; no single quotes in it.
test::ProgramResult shell(const std::string& line) { return test::run_program(concat("sh -c '", line, "'")); }

json json_of_run(const test::ProgramResult& run) {
  json value = json::parse(run.output, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << run.output;
  return value;
}

std::string violations_of(const json& value) {
  const json schema = json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/hang-schema.json"));
  std::string out;
  for (const std::string& violation : test::violations(schema, value)) out += violation + "\n";
  return out;
}

TEST(DoctorHangTest, LateRankIsNamedOnOneScreen) {
  const auto run = hang(kExamples + "/hang-late-rank");
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_NE(run.output.find("kind      rank_not_entered"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("culprit   rank 2\n"), std::string::npos) << run.output;
  std::istringstream stream(run.output);
  int lines = 0;
  for (std::string line; std::getline(stream, line); ++lines) EXPECT_LE(columns_of(line), kScreenColumns);
  EXPECT_LE(lines, 50);
}

TEST(DoctorHangTest, KilledRankIsNamed) {
  const auto run = hang(kExamples + "/hang-killed-rank");
  EXPECT_EQ(run.exit_code, 2) << run.output;
  EXPECT_NE(run.output.find("kind      rank_died"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("culprit   rank 3\n"), std::string::npos) << run.output;
}

/// The text block behind the first mention of the folder on the page, after the block of commands.
std::string shown_for(const std::string& folder) {
  std::ostringstream page;
  page << std::ifstream(RINGCOMM_SOURCE_DIR "/docs/diagnosis.md").rdbuf();
  const std::string text = page.str(), fence = "```text\n";
  const std::size_t at = text.find(concat("(`docs/examples/", folder, "`)"));
  const std::size_t begin = text.find(fence, at);
  if (at == std::string::npos || begin == std::string::npos) return "not on the page";
  const std::size_t from = begin + fence.size();
  return text.substr(from, text.find("```\n", from) - from);
}

TEST(DoctorHangTest, ThePageShowsWhatTheProgramPrints) {
  for (const char* folder : {"hang-late-rank", "hang-killed-rank"}) {
    const auto run = shell(concat("cd " RINGCOMM_SOURCE_DIR " && ", kDoctor, " hang docs/examples/", folder));
    EXPECT_EQ(shown_for(folder), run.output);
  }
}

TEST(DoctorHangTest, JsonSaysTheSameAndFollowsItsSchema) {
  const auto run = hang("--json " + kExamples + "/hang-late-rank");
  const json value = json_of_run(run);
  EXPECT_EQ(violations_of(value), "");
  EXPECT_EQ(value["fault_kind"], "rank_not_entered");
  EXPECT_EQ(value["culprit_ranks"], json({2}));
  EXPECT_EQ(value["seq"], "1178");
  EXPECT_EQ(value["exit_code"], run.exit_code);
  EXPECT_EQ(value["files"].size(), 4U);
}

TEST(DoctorHangTest, PasteOnStandardInputIsEvidence) {
  for (const char* argument : {"", "-"}) {
    const auto run =
        shell(concat("cat ", kExamples, "/hang-late-rank/*.log | ", kDoctor, " hang --json ", argument));
    EXPECT_EQ(json_of_run(run)["files"][0]["path"], "standard input");
  }
  const auto both = shell(concat("cat ", kExamples, "/hang-late-rank/rank_0.log | ", kDoctor,
                                 " hang --json - ", kExamples, "/hang-late-rank/rank_1.log"));
  const json value = json_of_run(both);
  ASSERT_EQ(value["files"].size(), 2U);
  EXPECT_EQ(value["files"][1]["path"], "standard input");
}

TEST(DoctorHangTest, WhatIsNoEvidenceIsNamedAndEndsWithThree) {
  const test::TempDir folder;
  const std::string path = folder.path().string();
  std::ofstream(path + "/empty").flush();
  std::filesystem::create_directory(path + "/folder");
  for (const char* name : {"/empty", "/folder", "/missing"}) {
    const auto run = hang("--json " + path + name);
    EXPECT_EQ(run.exit_code, 3) << name << run.output;
    const json value = json_of_run(run);
    EXPECT_EQ(violations_of(value), "");
    EXPECT_EQ(value["fault_kind"], "insufficient_evidence");
    EXPECT_EQ(value["unread"].size(), std::string(name) == "/folder" ? 0U : 1U);
    EXPECT_EQ(hang(path + name).exit_code, 3);
  }
  EXPECT_EQ(test::run_program(concat(kDoctor, " hang < /dev/null")).exit_code, 3);
}

TEST(DoctorHangTest, ForeignBytesBreakNothing) {
  const test::TempDir folder;
  const std::string path = folder.path().string() + "/rank_1.log";
  std::string bytes =
      "[rank1]: Traceback (most recent call last):\n  File \"a\xff.py\", line 1\nValueError: \xc3(\x1b[2J\n";
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::ofstream(path) << bytes;
  const auto run = hang("--json " + path);
  EXPECT_EQ(violations_of(json_of_run(run)), "");
  for (const char byte : hang("--ascii " + path).output)
    EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte < 0x7F)) << static_cast<int>(byte);
}

TEST(DoctorHangTest, WrongUseEndsWith64) {
  EXPECT_EQ(hang("--jsn x").exit_code, 64);
  EXPECT_NE(hang("--jsn x").output.find("Did you mean --json?"), std::string::npos);
}

std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> out;
  std::istringstream stream(help);
  bool is_inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line == "Examples:")
      is_inside = true;
    else if (is_inside && line.empty())
      break;
    else if (is_inside)
      out.push_back(line);
  }
  return out;
}

/// In a folder with the files that they name, and with a kubectl that prints a log.
TEST(DoctorHangTest, ExamplesOfTheHelpRun) {
  const test::TempDir folder;
  const std::filesystem::path path = folder.path();
  std::filesystem::copy(kExamples + "/hang-late-rank", path);
  std::filesystem::copy(kExamples + "/hang-late-rank", path / "logs");
  std::filesystem::copy(kExamples + "/hang-killed-rank/dmesg_trainer-1.txt", path / "dmesg.txt");
  std::ofstream(path / "nccl_trace_rank_0") << "{\"version\": \"2.5\"}";
  std::ofstream(path / "kubectl") << "#!/bin/sh\ncat logs/*.log\n";
  std::filesystem::permissions(path / "kubectl", std::filesystem::perms::owner_all);
  const auto examples = examples_of(hang("--help").output);
  EXPECT_EQ(examples.size(), 6U);
  for (const std::string& example : examples) {
    const auto run =
        shell(concat("cd ", path.string(), " && PATH=.:" RINGCOMM_BIN_DIR ":$PATH && ", example));
    EXPECT_TRUE(run.exit_code >= 0 && run.exit_code <= 3) << example << run.exit_code << run.output;
  }
}

}  // namespace
}  // namespace ringcomm::doctor
