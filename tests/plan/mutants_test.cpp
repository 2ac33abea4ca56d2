// SPDX-License-Identifier: Apache-2.0
// The oracle of the verifier is brute_force: it executes plans on a toy machine and shares no code with it.
// On 1,000 seeded mutants of plans of all kinds both must say the same.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

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
    cases.back().coverage.consumed.clear();  // pairs alone must show what is missing
    if (rule.mode == RotationMode::relay) {
      rule.chunk_bytes = 2;
      cases.push_back(rotation_case(rule));
    }
    rule.block_bytes = uneven;
    cases.push_back(rotation_case(rule));
  }
  // More chunks than a lane has places.
  for (const Overlap overlap : {Overlap::on, Overlap::off}) {
    RotationRule many{.ranks = 2, .mode = RotationMode::relay, .overlap = overlap, .chunk_bytes = 1};
    many.block_bytes = {static_cast<unsigned>(kLaneDepth + ranks), kLaneDepth + 1};
    cases.push_back(rotation_case(many));
  }
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
      for (const SoftmaxRule& rule : softmax_forms(ranks, access, 5)) {
        // The two mutants' judges know merges of all partials; doubling_simulation is the oracle of the
        // other.
        if (rule.algorithm != MergeAlgorithm::recursive_doubling) cases.push_back(softmax_case(rule));
      }
      for (const auto form : {ReduceForm::one_shot, ReduceForm::two_shot, ReduceForm::scatter})
        cases.push_back(
            reduce_case({.ranks = ranks, .access = access, .form = form, .slice_bytes = gather.block_bytes}));
      cases.push_back(broadcast_case({.ranks = ranks, .access = access, .root = ranks / 2, .bytes = 3}));
      std::vector<std::uint64_t> bytes;
      for (int pair = 0; pair < ranks * ranks; ++pair) bytes.push_back(static_cast<unsigned>(pair % 4));
      cases.push_back(all_to_all_case(ranks, access, bytes));
    }
    cases.push_back(point_to_point_case(ranks, 3 * ranks, static_cast<std::uint32_t>(ranks)));
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
  void add(bool is_harmful) { ++(is_harmful ? harmful : harmless); }
};

void print(const std::string& name, const Tally& tally) {
  std::printf("[ mutants  ] %-16s %4d harmful %4d harmless\n", name.c_str(), tally.harmful, tally.harmless);
}

/// Compares the two verdicts on kMutants mutants with `changes` of the `mutations` each, and counts.
class Trial {
 public:
  Trial(unsigned seed, std::vector<Mutation> mutations, int changes)
      : random_(seed), mutations_(std::move(mutations)), changes_(changes) {}

  void run() {
    const std::vector<Case> cases = all_cases();
    for (int made = 0; made < kMutants && !::testing::Test::HasFatalFailure();)
      made += try_one(cases[random_() % cases.size()]) ? 1 : 0;
    for (const auto& [name, tally] : by_mutation_) print(name, tally);
    print("in all", total_);
    for (const auto& [fault, count] : by_fault_)
      std::printf("[ mutants  ] fault: %-16s %4d\n", fault.c_str(), count);
  }
  const Tally& total() const { return total_; }
  int faults(const std::string& kind) { return by_fault_[kind]; }

 private:
  bool try_one(const Case& c) {
    std::vector<RankPlan> slices = c.slices;
    std::string what;
    Mutation mutation = Mutation::op_deleted;
    for (int change = 0; change < changes_; ++change) {
      mutation = mutations_[random_() % mutations_.size()];
      std::optional<Mutant> mutant = mutate(slices, mutation, random_);
      if (!mutant) return false;
      slices = std::move(mutant->slices);
      what += mutant->what + "\n";
    }
    const Judgement judgement = judge(slices, c.coverage);
    compare(c, slices, what, judgement);
    if (changes_ == 1)
      by_mutation_[kMutationNames[static_cast<std::size_t>(mutation)]].add(judgement.is_harmful());
    total_.add(judgement.is_harmful());
    if (judgement.is_harmful()) ++by_fault_[judgement.fault];
    return true;
  }

  static void compare(const Case& c, const std::vector<RankPlan>& slices, const std::string& what,
                      const Judgement& judgement) {
    const Result<PlanFacts> verdict = verify(slices, c.coverage);
    ASSERT_EQ(judgement.is_harmful(), !verdict.is_ok())
        << c.name << "\n"
        << what << "brute force: " << judgement.fault << " " << judgement.detail
        << "\nverifier: " << verdict.status().to_string() << "\n"
        << text_of(slices);
  }

  std::mt19937 random_;
  std::vector<Mutation> mutations_;
  int changes_;
  Tally total_;
  std::map<std::string, Tally> by_mutation_;
  std::map<std::string, int> by_fault_;
};

TEST(MutantsTest, BruteForceFindsNothingInWholePlans) {
  for (const Case& c : all_cases()) {
    const Judgement judgement = judge(c.slices, c.coverage);
    EXPECT_FALSE(judgement.is_harmful()) << c.name << ": " << judgement.fault << ", " << judgement.detail;
  }
}

TEST(MutantsTest, VerifierAndBruteForceAgreeOnAThousand) {
  std::vector<Mutation> all;
  for (std::size_t index = 0; index < kMutationNames.size(); ++index)
    all.push_back(static_cast<Mutation>(index));
  Trial trial(20240229, all, 1);
  trial.run();
  EXPECT_GT(trial.total().harmful, 100);
  EXPECT_GT(trial.total().harmless, 100);
  for (const char* fault :
       {"match", "deadlock", "acknowledgement", "race", "content", "coverage", "bounds", "view", "left over"})
    EXPECT_GT(trial.faults(fault), 0) << "no mutant shows a fault of class " << fault;
}

/// What leaves all operations in place is the hardest to judge.
TEST(MutantsTest, VerifierAndBruteForceAgreeOnAThousandReorderedPlans) {
  Trial trial(7, {Mutation::ops_swapped, Mutation::op_moved, Mutation::after_removed}, 2);
  trial.run();
  EXPECT_GT(trial.total().harmful, 100);
  EXPECT_GT(trial.total().harmless, 100);
  EXPECT_GT(trial.faults("race"), 20);
}

}  // namespace
}  // namespace ringcomm::plan::testing
