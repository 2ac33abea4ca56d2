// SPDX-License-Identifier: Apache-2.0
// Two seeds of every real fault: kind, culprit, and a verdict in time. 20 seeds: real_faults.
#include <gtest/gtest.h>

#include "faults/made/fault_case.hpp"
#include "faults/made/killed_records.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::test {
namespace {

struct Tested {
  FaultCase fault;
  Medium medium;
};
std::vector<Tested> all_tested() {
  std::vector<Tested> all;
  for (const FaultCase& fault : fault_cases()) {
    if (fault.has_processes) all.push_back({fault, Medium::processes});
    if (fault.has_threads) all.push_back({fault, Medium::threads});
  }
  return all;
}
class RealFaultTest : public testing::TestWithParam<Tested> {};

TEST_P(RealFaultTest, EndsWithTheRightVerdictInTime) {
  ::setenv("RINGCOMM_WATCHDOG", "0", 1);
  for (const std::uint64_t seed : {0U, 1U}) {
    const FaultSite site = draw_site(GetParam().fault, seed);
    const FaultRun run = run_fault(GetParam().fault, GetParam().medium, site);
    const std::string story = concat("seed ", seed, ", culprit ", site.culprit, " of ", site.ranks, ": ",
                                     run.verdict.title, "\n", run.said);
    EXPECT_EQ(diag::name_of(run.verdict.kind), diag::name_of(GetParam().fault.kind)) << story;
    EXPECT_TRUE(run.is_right_culprit) << story << testing::PrintToString(run.verdict.culprits);
    EXPECT_LT(run.late_ms, 2000) << story;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RealFaultTest, testing::ValuesIn(all_tested()), [](const auto& tested) {
  return concat(tested.param.fault.name, "_", name_of(tested.param.medium));
});

TEST(KilledRecordTest, TheRecordOfTheDeadEndsWithinOneStateOfWhatItsPeersSaw) {
  std::int64_t compared = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const KilledRun run = kill_one(seed);
    EXPECT_TRUE(run.was_read) << "seed " << seed;
    EXPECT_EQ(run.differences, "") << "seed " << seed;
    compared += run.states_compared;
  }
  EXPECT_GT(compared, 0);
}

TEST(KilledRecordTest, ARecordThatLagsOrLeadsIsFound) {
  const auto message = [](int rank, int peer, bool is_incoming, std::int64_t seq) {
    diag::StepFact step;
    step.who.rank = rank;
    step.peer = peer;
    step.is_incoming = is_incoming;
    step.seq = seq;
    if (is_incoming) step.arrived_ns = 1;
    return step;
  };
  diag::HangEvidence evidence;  // 0 is dead; it has posted 1 ... 3, and rank 1 has seen 1 ... 4 arrive
  for (const std::int64_t seq : {1, 2, 3}) evidence.steps.push_back(message(0, 1, false, seq));
  for (const std::int64_t seq : {1, 2, 3, 4}) evidence.steps.push_back(message(1, 0, true, seq));
  std::int64_t compared = 0;
  EXPECT_EQ(differences_of(evidence, 0, compared), "");
  EXPECT_EQ(compared, 4);
  evidence.steps.push_back(message(1, 0, true, 5));
  EXPECT_EQ(differences_of(evidence, 0, compared),
            "rank 0 to 1: 2 messages arrived that the dead rank has not recorded as posted; ");
  evidence.steps.pop_back();
  evidence.steps.push_back(message(1, 0, false, 1));
  evidence.steps.push_back(message(0, 1, true, 2));
  EXPECT_EQ(differences_of(evidence, 0, compared),
            "rank 1 to 0: 1 messages arrived at the dead rank that nobody posted; ");
}

}  // namespace
}  // namespace ringcomm::test
