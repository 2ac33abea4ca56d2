// SPDX-License-Identifier: Apache-2.0
// The oracle of the verifier is brute_force: it executes plans on a toy machine and shares no code with it.
// On 1,000 seeded mutants of plans of all kinds both must say the same.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "plan/brute_force.hpp"
#include "plan/mutate.hpp"
#include "plan/plan_kinds.hpp"

namespace ringcomm::plan::testing {
namespace {

constexpr int kMutants = 1000;

std::vector<Case> rotation_cases(int ranks) {
  std::vector<Case> cases;
  std::vector<std::uint64_t> uneven;
  for (int rank = 0; rank < ranks; ++rank)
    uneven.push_back(rank == 1 ? 0 : static_cast<unsigned>(3 * rank + 2));
  for (RotationRule rule : rotation_forms(ranks)) {
    rule.block_bytes.assign(static_cast<std::size_t>(ranks), 6);
    cases.push_back(rotation_case(rule));
    cases.push_back(attention_case(rule));
    if (rule.mode == RotationMode::relay) {
      rule.chunk_bytes = 2;
      cases.push_back(rotation_case(rule));
    }
    rule.block_bytes = uneven;
    cases.push_back(rotation_case(rule));
  }
  // More chunks than a lane has places.
  RotationRule many{.ranks = ranks, .mode = RotationMode::relay, .chunk_bytes = 1};
  many.block_bytes.assign(static_cast<std::size_t>(ranks), 11);
  if (ranks == 2) cases.push_back(rotation_case(many));
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const int ranks : {2, 3, 4}) {
    for (Case& c : rotation_cases(ranks)) cases.push_back(std::move(c));
    for (const Access access : {Access::direct_read, Access::two_sided}) {
      cases.push_back(barrier_case({.ranks = ranks, .access = access}));
      AllGatherRule gather{.ranks = ranks, .access = access};
      for (int rank = 0; rank < ranks; ++rank) gather.block_bytes.push_back(static_cast<unsigned>(rank + 2));
      cases.push_back(all_gather_case(gather));
      for (const auto algorithm : {MergeAlgorithm::one_shot, MergeAlgorithm::two_shot})
        cases.push_back(softmax_case(
            {.ranks = ranks, .access = access, .algorithm = algorithm, .rows = 7, .row_bytes = 2}));
    }
  }
  return cases;
}

std::string text_of(const std::vector<RankPlan>& slices) {
  std::string text;
  for (const RankPlan& slice : slices) text += to_text(slice);
  return text;
}

struct Tally {
  int harmful = 0;
  int harmless = 0;
};

void print(const char* title, const std::map<std::string, Tally>& tallies) {
  for (const auto& [name, tally] : tallies)
    std::printf("[ mutants  ] %s %-16s %4d harmful %4d harmless\n", title, name.c_str(), tally.harmful,
                tally.harmless);
}

TEST(MutantsTest, BruteForceFindsNothingInWholePlans) {
  for (const Case& c : all_cases()) {
    const Judgement judgement = judge(c.slices, c.coverage);
    EXPECT_FALSE(judgement.is_harmful()) << c.name << ": " << judgement.fault << ", " << judgement.detail;
  }
}

TEST(MutantsTest, VerifierAndBruteForceAgreeOnAThousand) {
  const std::vector<Case> cases = all_cases();
  std::mt19937 random(20240229);
  std::map<std::string, Tally> by_mutation;
  std::map<std::string, int> by_fault;
  Tally total;
  for (int made = 0; made < kMutants;) {
    const Case& c = cases[random() % cases.size()];
    const auto mutation = static_cast<Mutation>(random() % kMutationNames.size());
    const std::optional<Mutant> mutant = mutate(c.slices, mutation, random);
    if (!mutant) continue;
    ++made;
    const Judgement judgement = judge(mutant->slices, c.coverage);
    const Result<PlanFacts> verdict = verify(mutant->slices, c.coverage);
    ASSERT_EQ(judgement.is_harmful(), !verdict.is_ok())
        << c.name << "\n"
        << mutant->what << "\nbrute force: " << judgement.fault << " " << judgement.detail
        << "\nverifier: " << verdict.status().to_string() << "\n"
        << text_of(mutant->slices);
    Tally& tally = by_mutation[kMutationNames[static_cast<std::size_t>(mutation)]];
    ++(judgement.is_harmful() ? tally.harmful : tally.harmless);
    ++(judgement.is_harmful() ? total.harmful : total.harmless);
    if (judgement.is_harmful()) ++by_fault[judgement.fault];
  }
  print("", by_mutation);
  print("", {{"in all", total}});
  for (const auto& [fault, count] : by_fault)
    std::printf("[ mutants  ]  fault %-16s %4d\n", fault.c_str(), count);
  EXPECT_GT(total.harmful, 100);
  EXPECT_GT(total.harmless, 100);
  for (const char* fault : {"match", "deadlock", "acknowledgement", "race", "content", "coverage", "bounds"})
    EXPECT_GT(by_fault[fault], 0) << "no mutant shows a fault of class " << fault;
}

}  // namespace
}  // namespace ringcomm::plan::testing
