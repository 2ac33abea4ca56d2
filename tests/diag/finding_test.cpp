// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/finding.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

Finding made(Severity severity, CheckState state) {
  Finding finding;
  finding.severity = severity;
  finding.state = state;
  return finding;
}

TEST(FindingTest, ExitCodeIsTheWorstProblem) {
  EXPECT_EQ(exit_code_of({}), 0);
  EXPECT_EQ(exit_code_of({made(Severity::info, CheckState::problem)}), 0);
  EXPECT_EQ(
      exit_code_of({made(Severity::failure, CheckState::ok), made(Severity::warning, CheckState::problem)}),
      1);
  EXPECT_EQ(exit_code_of(
                {made(Severity::failure, CheckState::problem), made(Severity::warning, CheckState::problem)}),
            2);
}

TEST(FindingTest, UnknownIsNoProblem) {
  EXPECT_EQ(exit_code_of({made(Severity::failure, CheckState::unknown)}), 0);
}

TEST(FindingTest, WordsAreTheEnumerators) {
  EXPECT_EQ(name_of(Severity::failure), "failure");
  EXPECT_EQ(name_of(CheckState::unknown), "unknown");
}

}  // namespace
}  // namespace ringcomm
