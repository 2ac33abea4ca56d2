// SPDX-License-Identifier: Apache-2.0
// How much the readers find in the dumps of the case collection beside the project.
#include <gtest/gtest.h>

#include <filesystem>

#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/hang_evidence.hpp"
#include "test_paths.hpp"

namespace ringcomm::diag {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* number;
  std::size_t files, ops, groups, counters, idle, unread;
};

class SharedDumpsTest : public ::testing::TestWithParam<Case> {};

TEST_P(SharedDumpsTest, Facts) {
  const fs::path root = fs::path(RINGCOMM_SOURCE_DIR) / "../shared/data/hangs";
  if (!fs::exists(root)) GTEST_SKIP() << "shared/data/hangs is not here";
  const Case& wanted = GetParam();
  std::vector<fs::path> files;
  for (const auto& folder : fs::directory_iterator(root)) {
    if (!folder.path().filename().string().starts_with(wanted.number)) continue;
    for (const auto& file : fs::recursive_directory_iterator(folder.path())) {
      const std::string name = file.path().filename().string();
      if (file.is_regular_file() && (name.starts_with("nccl_trace") || name.starts_with("rank_")))
        files.push_back(file.path());
    }
  }
  ASSERT_FALSE(files.empty());
  const HangEvidence evidence = read_hang_evidence(files);
  EXPECT_EQ(evidence.files.size(), wanted.files);
  EXPECT_EQ(evidence.ops.size(), wanted.ops);
  EXPECT_EQ(evidence.groups.size(), wanted.groups);
  EXPECT_EQ(evidence.counters.size(), wanted.counters);
  EXPECT_EQ(evidence.idle.size(), wanted.idle);
  EXPECT_EQ(evidence.unread.size(), wanted.unread);
  // Each counter of a group with entries names the same group as they do: the open call is not behind it.
  for (const OpFact& op : evidence.ops) {
    for (const CounterFact& counter : evidence.counters) {
      if (counter.who.rank != op.who.rank || counter.group != op.group) continue;
      const std::int64_t number = op.seq ? *op.seq : *op.p2p_seq;
      EXPECT_LE(number, counter.enqueued.value_or(0)) << op.who.rank << " " << op.group;
      if (op.completed == Tri::yes) {
        EXPECT_LE(number, counter.completed.value_or(0)) << op.who.rank << " " << op.group;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SharedDumpsTest,
                         ::testing::Values(Case{"001", 16, 193, 200, 200, 0, 0},
                                           Case{"002", 11, 66, 143, 143, 2, 0},
                                           Case{"003", 16, 178, 208, 208, 0, 0},
                                           Case{"004", 16, 148, 200, 200, 2, 0},
                                           Case{"041", 8, 19, 8, 8, 5, 0}, Case{"043", 4, 4, 2, 2, 0, 2},
                                           Case{"045", 4, 8, 8, 8, 0, 0}, Case{"052", 2, 4, 2, 2, 0, 0},
                                           Case{"053", 4, 45, 4, 4, 2, 0}, Case{"080", 4, 8, 4, 4, 0, 0}),
                         [](const auto& made) { return concat("Case", made.param.number); });

}  // namespace
}  // namespace ringcomm::diag
