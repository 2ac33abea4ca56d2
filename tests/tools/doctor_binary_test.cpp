// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor is one file that runs on any host: what it loads is listed here.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

TEST(DoctorBinaryTest, LoadsNothingButTheSystemsOwnLibraries) {
  const auto result = test::run_program("ldd " RINGCOMM_BIN_DIR "/ringcomm-doctor");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::set<std::string> allowed{"libc.so.6", "libm.so.6", "libudev.so.1", "linux-vdso.so.1"};
  const std::regex library("\\s(lib[^ ]*\\.so[^ ]*|linux-vdso\\.so\\.1) ");
  int seen = 0;
  for (std::sregex_iterator at(result.output.begin(), result.output.end(), library), end; at != end;
       ++at, ++seen)
    EXPECT_TRUE(allowed.contains((*at)[1])) << (*at)[1];
  EXPECT_GE(seen, 2) << result.output;
}

TEST(DoctorBinaryTest, CommandsAreListedAndMisspeltOnesCorrected) {
  const std::string doctor = RINGCOMM_BIN_DIR "/ringcomm-doctor ";
  const auto help = test::run_program(doctor + "--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* const command : {"hang", "attach", "topo", "env", "selftest"})
    EXPECT_NE(help.output.find(command), std::string::npos);
  const auto wrong = test::run_program(doctor + "selftst");
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_NE(wrong.output.find("Did you mean selftest?"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace ringcomm
