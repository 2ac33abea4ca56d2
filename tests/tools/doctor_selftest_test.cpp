// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor selftest as a user starts it, and its own oracle.
#include "selftest.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "ringcomm/core/text.hpp"
#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

/// `script` has no single quotes.
test::ProgramResult shell(const std::string& script, int seconds_max = 60) {
  return test::run_program("sh -c '" + script + "'", seconds_max);
}

const std::string kDoctor = std::string(RINGCOMM_BIN_DIR) + "/ringcomm-doctor ";

TEST(DoctorSelftestTest, EverythingPassesOverThreadsAndProcesses) {
  const auto result = test::run_program(kDoctor + "selftest --ranks 2 --transports inproc,shm");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("Verdict: 12 of 12 passed (exit code 0)"), std::string::npos) << result.output;
}

TEST(DoctorSelftestTest, OtherTransportsGoThroughThePerfTool) {
  const auto result = test::run_program(kDoctor + "selftest --json --ranks 2 --transports mpi");
  const auto json = nlohmann::json::parse(result.output);
  ASSERT_FALSE(json.at("checks").empty());
  EXPECT_EQ(json.at("checks")[0].at("name"), "all_reduce");
  EXPECT_EQ(json.at("exit_code"), result.exit_code);
}

TEST(DoctorSelftestTest, WrongUseExits64) {
  for (const char* const wrong : {"selftest --transports tcp", "selftest --ranks 0", "selftest now"})
    EXPECT_EQ(test::run_program(kDoctor + wrong).exit_code, 64) << wrong;
}

TEST(DoctorSelftestTest, ExamplesOfTheHelpRun) {
  const std::string help = test::run_program(kDoctor + "selftest --help").output;
  const std::regex example("\n  (ringcomm-doctor selftest[^\n]*)");
  int ran = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), example), end; at != end; ++at, ++ran) {
    const auto result = shell("PATH=" RINGCOMM_BIN_DIR ":$PATH " + (*at)[1].str(), 110);
    EXPECT_LE(result.exit_code, 1) << result.output;
  }
  EXPECT_EQ(ran, 3) << help;
}

TEST(RunProgramTest, SaysHowItEnded) {
  EXPECT_TRUE(doctor::run_program({"true"}, 5).is_ok());
  EXPECT_EQ(doctor::run_program({"sh", "-c", "exit 3"}, 5).message(), "sh exited with 3");
  EXPECT_EQ(doctor::run_program({"sh", "-c", "kill -9 $$"}, 5).message(), "sh was killed by signal 9");
  EXPECT_EQ(doctor::run_program({"/nowhere/program"}, 5).code(), StatusCode::not_found);
  EXPECT_EQ(doctor::run_program({"sleep", "60"}, 1).code(), StatusCode::timeout);
}

}  // namespace
}  // namespace ringcomm
