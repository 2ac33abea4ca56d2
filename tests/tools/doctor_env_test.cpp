// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor env as a user starts it. What it finds depends on the host; that it says so does not.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "host_json.hpp"
#include "ringcomm/core/text.hpp"
#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

using test::ProgramResult;
using test::run_program;

/// `script` has no single quotes.
test::ProgramResult shell(const std::string& script, int seconds_max = 60) {
  return test::run_program("sh -c '" + script + "'", seconds_max);
}

const std::string kDoctor = std::string(RINGCOMM_BIN_DIR) + "/ringcomm-doctor ";

TEST(DoctorEnvTest, OneScreenWithTheHostItsFindingsAndAVerdict) {
  const ProgramResult result = run_program(kDoctor + "env");
  EXPECT_LE(result.exit_code, 2) << result.output;
  for (const char* const part :
       {"Host ", "software", "CPUs", "memory", "limits", "Findings", "Verdict: ", "checks ok"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << " in\n" << result.output;
  EXPECT_LT(std::count(result.output.begin(), result.output.end(), '\n'), 50);
}

TEST(DoctorEnvTest, VerboseShowsWhatIsOk) {
  const ProgramResult result = run_program(kDoctor + "env --verbose --ascii");
  for (const char* const id :
       {"probe_fd_passing", "probe_futex_wake", "probe_loopback_tcp", "cpu_quota", "shm_small"})
    EXPECT_NE(result.output.find(id), std::string::npos) << id;
}

TEST(DoctorEnvTest, RanksThatDoNotFitAreWarnedAbout) {
  const ProgramResult result = run_program(kDoctor + "env --ranks 4000");
  EXPECT_NE(result.output.find("[cpus_few]"), std::string::npos) << result.output;
  EXPECT_GE(result.exit_code, 1);
}

TEST(DoctorEnvTest, AMisspeltVariableIsNamed) {
  const ProgramResult result = shell("RINGCOMM_TIMEOT=3s " + kDoctor + "env");
  EXPECT_NE(result.output.find("[variable_unknown]"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("RINGCOMM_TIMEOUT"), std::string::npos) << result.output;
}

TEST(DoctorEnvTest, JsonHasTheSameAndIsComplete) {
  const ProgramResult result = run_program(kDoctor + "env --json");
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("exit_code"), result.exit_code);
  ASSERT_EQ(json.at("ranks").size(), 1U);
  EXPECT_TRUE(json.at("ranks")[0].at("cpus_allowed").is_array());
  for (const auto& finding : json.at("findings")) {
    EXPECT_TRUE(finding.at("id").is_string());
    EXPECT_TRUE(finding.at("state") == "ok" || finding.at("state") == "problem" ||
                finding.at("state") == "unknown");
  }
}

TEST(DoctorEnvTest, RanksOfALauncherAreComparedByValue) {
  const std::string store = "file:///tmp/ringcomm-doctor-env-$$";
  const auto rank = [&](int number, const char* more) {
    return "RINGCOMM_STORE=" + store + " RINGCOMM_SIZE=3 RINGCOMM_RANK=" + std::to_string(number) + " " +
           more + " " + kDoctor + "env --timeout 30";
  };
  const ProgramResult result = shell(rank(1, "NCCL_IB_HCA=mlx5_1") + " & " + rank(2, "") + " & " +
                                     rank(0, "") + "; code=$?; wait; exit $code");
  EXPECT_NE(result.output.find("3 ranks"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("variables differ between ranks: NCCL_IB_HCA"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("NCCL_IB_HCA mlx5_1: rank 1"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("NCCL_IB_HCA (not there): ranks 0,2"), std::string::npos) << result.output;
}

TEST(DoctorEnvTest, BoundRanksAreJudgedByTheirCpusTogether) {
  if (test::run_program("taskset -c 1 true").exit_code != 0) GTEST_SKIP() << "needs two CPUs and taskset";
  const std::string store = "file:///tmp/ringcomm-doctor-bound-$$";
  const auto rank = [&](int number) {
    return "RINGCOMM_STORE=" + store + " RINGCOMM_SIZE=2 RINGCOMM_RANK=" + std::to_string(number) +
           " taskset -c " + std::to_string(number) + " " + kDoctor + "env --timeout 30";
  };
  const ProgramResult result = shell(rank(1) + " & " + rank(0) + "; wait");
  EXPECT_NE(result.output.find("may use 0"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("[cpus_few]"), std::string::npos) << result.output;
}

TEST(DoctorEnvTest, ARankThatDoesNotComeIsNoHang) {
  const ProgramResult result =
      shell("RINGCOMM_STORE=file:///tmp/ringcomm-doctor-alone-$$ RINGCOMM_SIZE=2 RINGCOMM_RANK=0 " + kDoctor +
            "env --timeout 1");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_NE(result.output.find("rank"), std::string::npos);
}

TEST(DoctorEnvTest, WrongUseExits64) {
  for (const char* const wrong : {"env --rank 3", "env --ranks many", "env --ranks 0", "env extra"})
    EXPECT_EQ(run_program(kDoctor + wrong).exit_code, 64) << wrong;
}

TEST(DoctorEnvTest, TheDocumentationListsEveryCheck) {
  std::ifstream file(RINGCOMM_SOURCE_DIR "/docs/doctor.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const CheckId& check : host_check_ids()) {
    const std::string row =
        concat("| `", check.id, "` | ", name_of(check.severity), " | ", check.sentence, " |");
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

/// The lines behind "Examples:" of --help.
TEST(DoctorEnvTest, ExamplesOfTheHelpRun) {
  const std::string help = run_program(kDoctor + "env --help").output;
  const std::regex example("\n  ((?:ringcomm-doctor|mpirun)[^\n]*)");
  int ran = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), example), end; at != end; ++at) {
    std::string line = (*at)[1];
    if (line.starts_with("mpirun")) continue;  // launchers are tested in bootstrap
    const ProgramResult result = shell("cd /tmp && PATH=" RINGCOMM_BIN_DIR ":$PATH " + line);
    EXPECT_LE(result.exit_code, 2) << line << "\n" << result.output;
    ++ran;
  }
  EXPECT_EQ(ran, 3) << help;
}

TEST(HostJsonTest, FactsSurviveTheTrip) {
  HostFacts facts;
  facts.host_name = "node01";
  facts.limits.cpu_quota = 2.5;
  facts.node_cpus = {{0, {0, 1}}, {8, {}}};
  facts.variables = {{"NCCL_DEBUG", "INFO"}};
  facts.probes = {{"cma", "ok"}};
  facts.idle_latency_us_max = 133;
  facts.wall_clock_ns = 17;
  const auto back = doctor::parse_host(doctor::host_json(facts).dump());
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(doctor::host_json(back.value()), doctor::host_json(facts));
  EXPECT_EQ(back->node_cpus, facts.node_cpus);
  EXPECT_EQ(back->limits.cpu_quota, 2.5);
  EXPECT_FALSE(back->shm_free_bytes);
}

TEST(HostJsonTest, WhatIsNoneIsRefused) {
  for (const char* const text : {"", "{}", "[]", "{\"host_name\": 3}"})
    EXPECT_EQ(doctor::parse_host(text).status().code(), StatusCode::corrupt_data) << text;
}

}  // namespace
}  // namespace ringcomm
