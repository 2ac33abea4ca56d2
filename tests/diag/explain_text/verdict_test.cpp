// SPDX-License-Identifier: Apache-2.0
// The labels are an interface: scripts read them.
#include "ringcomm/diag/verdict.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ringcomm::diag {
namespace {

constexpr int kLast = static_cast<int>(FaultKind::insufficient_evidence);

TEST(VerdictTest, EveryKindHasALabelASentenceAndAnExitCode) {
  std::set<std::string> labels, sentences;
  for (int i = 0; i <= kLast; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    EXPECT_TRUE(labels.emplace(name_of(kind)).second) << name_of(kind);
    EXPECT_TRUE(sentences.emplace(sentence_of(kind)).second) << name_of(kind);
    EXPECT_EQ(exit_code_of(kind) == 0, kind == FaultKind::none) << name_of(kind);
    EXPECT_LE(exit_code_of(kind), 3) << name_of(kind);
  }
  EXPECT_EQ(labels.size(), 31U);
}

TEST(VerdictTest, LabelsDoNotChange) {
  EXPECT_EQ(name_of(FaultKind::none), "none");
  EXPECT_EQ(name_of(FaultKind::slot_reuse), "slot_reuse");
  EXPECT_EQ(name_of(FaultKind::rank_died), "rank_died");
  EXPECT_EQ(name_of(FaultKind::topology_suboptimal), "topology_suboptimal");
  EXPECT_EQ(name_of(FaultKind::insufficient_evidence), "insufficient_evidence");
  EXPECT_EQ(name_of(Grade::cannot_tell), "cannot-tell");
  EXPECT_EQ(name_of(Grade::certain), "certain");
}

TEST(VerdictTest, ExitCodesByClass) {
  EXPECT_EQ(exit_code_of(FaultKind::rank_not_entered), 1);
  EXPECT_EQ(exit_code_of(FaultKind::rank_died), 2);
  EXPECT_EQ(exit_code_of(FaultKind::all_entered_no_progress), 3);
}

}  // namespace
}  // namespace ringcomm::diag
