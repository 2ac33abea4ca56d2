// SPDX-License-Identifier: Apache-2.0
// Programs that check themselves, under every launcher's variables and under mpirun; the oracle is their exit
// code and one line per rank.
#include <gtest/gtest.h>

#include <functional>

#include "support/launcher.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::test {
namespace {

/// One program; `arguments` may depend on the number of ranks.
struct Program {
  std::string name;  ///< of the executable mp_<name>
  std::function<std::vector<std::string>(int ranks)> arguments;
  std::function<std::string(int rank, int ranks)> line;  ///< that the rank must print
  Settings settings;
};

std::string path_of(int ranks) { return ranks == 1 ? "self" : "shm"; }

std::string beginning(int rank, int ranks) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": ";
}

const std::vector<Program>& programs() {
  static const std::vector<Program> table{
      {"rank_program",
       [](int) { return std::vector<std::string>{"shm"}; },
       [](int rank, int ranks) { return beginning(rank, ranks) + "path " + path_of(ranks); },
       {}},
      {"collectives_program",
       [](int) { return std::vector<std::string>{}; },
       [](int rank, int ranks) { return beginning(rank, ranks) + "all collectives over " + path_of(ranks); },
       {}},
  };
  return table;
}

struct Case {
  std::size_t program;
  int ranks;
};

class LaunchTest : public ::testing::TestWithParam<Case> {
 protected:
  const Program& program() const { return programs()[GetParam().program]; }
  Launch launch() const {
    Launch launch;
    launch.command = {std::string(RINGCOMM_BIN_DIR) + "/mp_" + program().name};
    for (std::string& argument : program().arguments(GetParam().ranks))
      launch.command.push_back(std::move(argument));
    launch.ranks = GetParam().ranks;
    launch.settings = program().settings;
    launch.limit = std::chrono::seconds(200);
    return launch;
  }
  /// `outputs` has one entry per rank, or one for all.
  void check(const std::vector<LaunchedRank>& ended) const {
    EXPECT_EQ(failures_of(ended), "");
    for (int rank = 0; rank < GetParam().ranks; ++rank) {
      const LaunchedRank& one = ended.size() == 1 ? ended[0] : ended[static_cast<std::size_t>(rank)];
      const std::string line = program().line(rank, GetParam().ranks);
      EXPECT_NE(one.output.find(line + "\n"), std::string::npos) << line << " is missing in:\n" << one.output;
    }
  }
};

TEST_P(LaunchTest, TorchrunsVariablesWhileAStoreHoldsThePort) { check(launch_like_torchrun(launch())); }

TEST_P(LaunchTest, RingcommsOwnVariables) {
  const TempDir temp;
  check(launch_with_variables(launch(), "file://" + (temp.path() / "store").string()));
  EXPECT_EQ(temp.names(), std::vector<std::string>{});
}

TEST_P(LaunchTest, Mpirun) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun here";
  check(launch_by_mpirun(launch()));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::size_t program = 0; program < programs().size(); ++program) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) all.push_back({program, ranks});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Programs, LaunchTest, ::testing::ValuesIn(cases()), [](const auto& tested) {
  return programs()[tested.param.program].name + "_" + std::to_string(tested.param.ranks);
});

TEST(LaunchFailureTest, ARankThatIsMissingIsNamedByTheOthers) {
  Launch launch;
  launch.command = {std::string(RINGCOMM_BIN_DIR) + "/mp_rank_program"};
  launch.ranks = 2;
  launch.settings = {{"RINGCOMM_TIMEOUT", "500ms"}, {"WORLD_SIZE", "4"}};
  for (const LaunchedRank& rank : launch_like_torchrun(launch)) {
    EXPECT_EQ(rank.exit_code, 1);
    EXPECT_NE(rank.output.find("ranks 2, 3 of 4 have not come"), std::string::npos) << rank.output;
  }
}

}  // namespace
}  // namespace ringcomm::test
