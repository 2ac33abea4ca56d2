// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it: on files of ours, on this machine, and on what is no evidence at all.
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../perf/json_schema.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::doctor {
namespace {

using nlohmann::json;

const std::string kDoctor = RINGCOMM_BIN_DIR "/ringcomm-doctor";
const std::string kExamples = RINGCOMM_SOURCE_DIR "/docs/examples/";

test::ProgramResult topo(const std::string& arguments) {
  return test::run_program(concat(kDoctor, " topo ", arguments));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_screen(const std::string& text) {
  for (const std::string& line : lines_of(text)) EXPECT_LE(columns_of(line), kScreenColumns) << line;
}

/// Lines are wrapped where the screen ends: blanks and line ends are the same here.
void expect_has(const std::string& text, std::initializer_list<const char*> pieces) {
  std::string flat;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) flat += flat.empty() ? word : " " + word;
  for (const char* piece : pieces)
    EXPECT_NE(flat.find(piece), std::string::npos) << piece << " is missing in:\n" << text;
}

TEST(DoctorTopoTest, Dgx1MatrixGivesItsBestRingAndFitsOneScreen) {
  const auto run = topo(kExamples + "dgx1-topo.txt");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  expect_has(run.output, {"8 GPUs", "[0 3 2 1 5 6 7 4]", "slowest edge NV2", "3 link-disjoint rings",
                          "mlx5_3 PIX", "ranks in order of devices", "SYS", "Verdict: ok"});
  expect_screen(run.output);
  EXPECT_LE(lines_of(run.output).size(), 52U) << run.output;
}

TEST(DoctorTopoTest, JobsOrderIsJudgedAgainstTheBest) {
  const auto run = topo(concat(kExamples, "dgx1-topo.txt ", kExamples, "dgx1-nccl.log"));
  EXPECT_EQ(run.exit_code, 1) << run.output;
  expect_has(run.output, {"NCCL channel 0 of", "slower than the best; slowest edge SYS, best NV2",
                          "CUDA_VISIBLE_DEVICES=0,3,2,1,5,6,7,4", "plan_slower_than_best"});
  const auto given = topo(concat("--order 0,1,2,3,4,5,6,7 ", kExamples, "dgx1-topo.txt"));
  EXPECT_EQ(given.exit_code, 1) << given.output;
  expect_has(given.output, {"the given order [0 1 2 3 4 5 6 7]: slower"});
  const auto best = topo(concat("--order 0,3,2,1,5,6,7,4 ", kExamples, "dgx1-topo.txt"));
  EXPECT_EQ(best.exit_code, 0) << best.output;
  expect_has(best.output, {"as good as the best"});
}

TEST(DoctorTopoTest, VirtualMachineWithSlowBridgesFails) {
  const auto run = topo(kExamples + "vm-4gpu.xml");
  EXPECT_NE(run.exit_code, 0) << run.output;
  expect_has(run.output,
             {"pcie_bridge_slow", "2.5 GT/s x1; wanted 32 GT/s x16", "vm-4gpu.xml:", "fix", "Verdict: "});
  expect_screen(run.output);
}

TEST(DoctorTopoTest, ThisMachineIsReadLive) {
  const auto run = topo("");
  EXPECT_TRUE(run.exit_code >= 0 && run.exit_code <= 2) << run.exit_code << run.output;
  expect_has(run.output, {"this machine", "NUMA", "Verdict: "});
  expect_screen(run.output);
}

TEST(DoctorTopoTest, JsonFollowsItsSchema) {
  const json schema = json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/topology-schema.json"));
  for (const std::string& files : {kExamples + "dgx1-topo.txt " + kExamples + "dgx1-nccl.log",
                                   kExamples + "vm-4gpu.xml", std::string(), std::string("/nonexistent")}) {
    const auto run = topo("--json " + files);
    const json value = json::parse(run.output, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << files << run.output;
    std::string found;
    for (const std::string& violation : test::violations(schema, value)) found += violation + "\n";
    EXPECT_EQ(found, "") << files;
    EXPECT_EQ(value["exit_code"], run.exit_code);
  }
}

TEST(DoctorTopoTest, JsonAndTextSayTheSame) {
  const json value = json::parse(topo("--json " + kExamples + "dgx1-topo.txt").output);
  EXPECT_EQ(value["rings"].size(), 3U);
  for (const json& ring : value["rings"]) {
    EXPECT_EQ(ring["order"].size(), 8U);
    EXPECT_TRUE(ring["disjoint"].get<bool>());
  }
  EXPECT_EQ(value["machine"]["gpus"].size(), 8U);
  EXPECT_EQ(value["machine"]["pairs"].size(), 8U * 11U + 2U);  // GPUs with GPUs and NICs; two NUMA nodes
}

TEST(DoctorTopoTest, StandardInputIsReadAndNamed) {
  const auto run = test::run_program(concat("sh -c '", kDoctor, " topo - <", kExamples, "dgx1-topo.txt'"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  expect_has(run.output, {"standard input (nvidia-smi-topo)"});
}

TEST(DoctorTopoTest, WhatIsNoEvidenceIsNamedAndEndsWithThree) {
  const test::TempDir folder;
  const std::string path = folder.path().string();
  std::ofstream(path + "/empty").flush();
  std::ofstream(path + "/words.txt") << "Dear all,\nour job is slow.\n";
  std::ofstream(path + "/binary") << std::string(
      "\x7f"
      "ELF\0\1\2\xff\xfe<system",
      16);
  std::filesystem::create_directory(path + "/folder");
  for (const char* name : {"/empty", "/words.txt", "/binary", "/folder", "/missing"}) {
    const auto run = topo(path + name);
    EXPECT_EQ(run.exit_code, 3) << name << run.output;
    expect_has(run.output, {"not read", "Verdict: evidence could not be read (exit code 3)"});
    EXPECT_NE(run.output.find(name + 1), std::string::npos) << run.output;
  }
  EXPECT_EQ(topo("/dev/null").exit_code, 3);
  const auto mixed = topo(concat(kExamples, "dgx1-topo.txt ", path, "/missing"));
  EXPECT_EQ(mixed.exit_code, 3) << mixed.output;
  expect_has(mixed.output, {"[0 3 2 1 5 6 7 4]", "missing"});
}

/// Opening this file succeeds for everybody, reading its first byte for nobody.
TEST(DoctorTopoTest, FileThatCannotBeReadIsNamed) {
  for (const char* options : {"", "--format nccl-log "}) {
    const auto run = topo(std::string(options) + "/proc/self/mem");
    EXPECT_EQ(run.exit_code, 3) << run.output;
    expect_has(run.output, {"not read /proc/self/mem"});
  }
}

TEST(DoctorTopoTest, FolderIsReadFileByFile) {
  const test::TempDir folder;
  std::filesystem::copy(kExamples + "dgx1-topo.txt", folder.path());
  std::ofstream(folder.path() / "README") << "not evidence\n";
  const auto run = topo(folder.path().string());
  EXPECT_EQ(run.exit_code, 0) << run.output;
  expect_has(run.output, {"8 GPUs", "not read", "README"});
}

TEST(DoctorTopoTest, WrongUseEndsWith64AndTheNearestWord) {
  const auto expect_usage = [](const std::string& arguments, const char* piece) {
    const auto run = test::run_program(concat(kDoctor, " ", arguments));
    EXPECT_EQ(run.exit_code, 64) << arguments << run.output;
    EXPECT_NE(run.output.find(piece), std::string::npos) << run.output;
  };
  expect_usage("", "Commands:");
  expect_usage("tpoo", "Did you mean topo?");
  expect_usage("topo --jsno", "Did you mean --json?");
  expect_usage("topo --format nvidia-smi-top " + kExamples + "dgx1-topo.txt",
               "Did you mean nvidia-smi-topo?");
  expect_usage("topo --format nvidia-smi-topo", "--format needs a FILE");
  expect_usage("topo --order 0,1 " + kExamples + "dgx1-topo.txt",
               "--order must name each of 0,1,2,3,4,5,6,7 once");
  expect_usage("topo --order 0,0,1,2,3,4,5,6 " + kExamples + "dgx1-topo.txt", "once");
  expect_usage("topo --order a " + kExamples + "dgx1-topo.txt", "--order wants numbers and commas, not 'a'");
  expect_usage("topo --rails sideways", "--rails");
  expect_usage("topo --costs /nonexistent", "/nonexistent");
  EXPECT_EQ(test::run_program(kDoctor + " --help").exit_code, 0);
  EXPECT_EQ(test::run_program(kDoctor + " --version").exit_code, 0);
}

TEST(DoctorTopoTest, FormatsAreListedWithTheirCommands) {
  const auto run = topo("--formats");
  EXPECT_EQ(run.exit_code, 0);
  for (const EvidenceFormat& format : evidence_formats()) {
    EXPECT_NE(run.output.find(format.name), std::string::npos) << format.name;
    EXPECT_NE(run.output.find(format.made_by.substr(0, 20)), std::string::npos) << format.made_by;
  }
  expect_screen(run.output);
}

TEST(DoctorTopoTest, AsciiHasNoOtherCharacters) {
  for (const char byte : topo("--ascii --explain " + kExamples + "dgx1-topo.txt").output) ASSERT_GE(byte, 0);
}

TEST(DoctorTopoTest, EveryCapturedMachineFitsTheScreenAndTheSchema) {
  const std::filesystem::path captured = RINGCOMM_SOURCE_DIR "/../shared/data/topology";
  if (!std::filesystem::exists(captured)) GTEST_SKIP() << "the captured machines are not here";
  const json schema = json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/topology-schema.json"));
  std::size_t count = 0;
  for (const auto& folder : std::filesystem::directory_iterator(captured)) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      const std::string path = file.path().string();
      const auto text = topo("--explain " + path);
      EXPECT_TRUE(text.exit_code >= 0 && text.exit_code <= 3) << path << text.output;
      expect_screen(text.output);
      const json value = json::parse(topo("--json " + path).output, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << path;
      for (const std::string& violation : test::violations(schema, value))
        ADD_FAILURE() << path << " " << violation;
      EXPECT_EQ(value["exit_code"], text.exit_code) << path;
      ++count;
    }
  }
  EXPECT_GE(count, 60U);
}

TEST(DoctorTopoTest, WrittenTopologyGivesTheSameMachine) {
  const test::TempDir folder;
  const std::string file = folder.path().string() + "/out.xml";
  const auto wrote = topo(concat("--write-nccl ", file, " ", kExamples, "vm-4gpu.xml"));
  ASSERT_TRUE(std::filesystem::exists(file)) << wrote.output;
  const json first = json::parse(topo("--json " + kExamples + "vm-4gpu.xml").output);
  const json second = json::parse(topo("--json " + file).output);
  ASSERT_EQ(second["rings"].size(), 1U);
  EXPECT_EQ(first["rings"][0]["order"], second["rings"][0]["order"]);
  EXPECT_EQ(first["machine"]["gpus"].size(), second["machine"]["gpus"].size());
  const auto again = topo(concat("--write-nccl ", file, " ", file));
  EXPECT_EQ(again.exit_code, 74) << again.output;
  expect_has(again.output, {"an existing file is kept"});
  EXPECT_EQ(topo(concat("--write-nccl /nonexistent/x ", kExamples, "vm-4gpu.xml")).exit_code, 74);
}

/// The lines of --help's examples are run as they are, in a folder that has the files they name.
TEST(DoctorTopoTest, ExamplesOfHelpRun) {
  const test::TempDir folder;
  const std::filesystem::path path = folder.path();
  std::filesystem::copy(kExamples + "dgx1-topo.txt", path / "topo.txt");
  std::filesystem::copy(kExamples + "dgx1-nccl.log", path / "nccl.log");
  std::filesystem::copy(kExamples + "dgx1-nvlink.txt", path / "nvlink.txt");
  std::filesystem::copy(kExamples + "vm-4gpu.xml", path / "topo.xml");
  std::ofstream(path / "nvidia-smi") << "#!/bin/sh\ncat topo.txt\n";
  std::filesystem::permissions(path / "nvidia-smi", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(kDoctor, path / "ringcomm-doctor");
  const std::string help = topo("--help").output;
  std::size_t count = 0;
  for (const std::string& line : lines_of(help.substr(help.find("Examples:")))) {
    if (line.find("ringcomm-doctor") == std::string::npos || !line.starts_with("  ")) continue;
    std::ofstream(path / "line") << "cd " << path.string() << "\n" << line << "\n";
    const auto run =
        test::run_program(concat("env PATH=", path.string(), ":$PATH sh ", (path / "line").string()));
    EXPECT_TRUE(run.exit_code >= 0 && run.exit_code <= 2) << line << "\n" << run.output;
    ++count;
  }
  EXPECT_EQ(count, 7U);
  EXPECT_TRUE(json::accept(std::ifstream(path / "report.json")));
  EXPECT_TRUE(std::filesystem::exists(path / "nccl-topo.xml"));
  expect_screen(help);
}

TEST(DoctorTopoTest, PageListsEveryFindingAndEveryFormat) {
  std::ifstream stream(RINGCOMM_SOURCE_DIR "/docs/topology.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  for (const CheckId& check : topology_check_ids()) {
    const std::string row =
        concat("| `", check.id, "` | ", name_of(check.severity), " | ", check.sentence, " |");
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
  for (const EvidenceFormat& format : evidence_formats())
    EXPECT_NE(page.find(concat("| `", format.name, "` | ")), std::string::npos) << format.name;
}

}  // namespace
}  // namespace ringcomm::doctor
