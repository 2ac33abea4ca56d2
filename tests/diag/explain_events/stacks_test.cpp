// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

const Labels kGather{"all_gather_into_tensor (torch/distributed/distributed_c10d.py:3709)",
                     "step (train.py:20)"};
const Labels kForward{"forward (model.py:318)", "step (train.py:12)"};
const Labels kItem{"item (torch/_tensor.py:9)", "schedule (engine.py:210)"};

TEST(StacksTest, TheOneOutsideTheCollectiveIsWaitedFor) {
  Facts facts;
  for (const int rank : {0, 2, 3}) {
    // The main thread waits for autograd, whose thread is in the collective.
    facts.stack(rank, {"backward (torch/autograd/__init__.py:266)", "main (train.py:1)"});
    facts.stack(rank, kGather, "Thread 4080");
    facts.gpu(rank, 100, 112);
  }
  facts.stack(1, kForward);
  facts.stack(1, {"wait (threading.py:324)"}, "Thread-1");
  GpuSample& idle = facts.evidence.gpus.emplace_back();
  idle.who.gpu = 1;  // as nvidia-smi numbers it
  idle.utilisation_percent = 0;
  idle.power_watts = 72;
  const Candidate found = found_by(facts.evidence, "stack_outlier");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.weight, Weight::strong);
  EXPECT_EQ(found.verdict.culprits, Labels{"1"});
  EXPECT_EQ(found.verdict.victims, (Labels{"0", "2", "3"}));
  EXPECT_EQ(found.verdict.op, "all_gather");
  EXPECT_NE(found.verdict.fix.find("forward (model.py:318)"), std::string::npos);
}

TEST(StacksTest, AProxyThreadInItsLoopPutsNobodyInsideACollective) {
  Facts facts;
  for (const int rank : {0, 1, 2}) {
    facts.stack(rank, kForward);
    facts.stack(rank, {"ncclAllReduceProxy (libnccl.so.2)", "ncclProxyProgress (libnccl.so.2)"}, "Thread 9");
  }
  EXPECT_FALSE(has_rule(facts.evidence, "stack_outlier"));
  EXPECT_FALSE(has_rule(facts.evidence, "all_in_one_place"));
}

TEST(StacksTest, AHostSynchronisationOutsideIsPossibleOnly) {
  Facts facts;
  for (const int rank : {0, 1, 2}) facts.stack(rank, kGather);
  facts.stack(3, kItem);
  const Candidate found = found_by(facts.evidence, "stack_outlier");
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.verdict.culprits, Labels{"3"});
}

TEST(StacksTest, AllInOneCollectiveHaveNoCulprit) {
  Facts facts;
  for (const int rank : {0, 1, 2}) facts.stack(rank, kGather);
  const Candidate found = found_by(facts.evidence, "all_in_one_place");
  EXPECT_EQ(found.verdict.kind, FaultKind::all_entered_no_progress);
  EXPECT_EQ(found.verdict.grade, Grade::cannot_tell);
  EXPECT_EQ(found.weight, Weight::weak);
  EXPECT_EQ(found.verdict.culprits, Labels{});
}

TEST(StacksTest, OneFrameWithSpinningGpusIsOfTheDevices) {
  Facts facts;
  for (const int rank : {0, 1}) facts.stack(rank, kForward);
  EXPECT_FALSE(has_rule(facts.evidence, "all_in_one_place"));
  for (const int rank : {0, 1}) facts.gpu(rank, 100, 120);
  EXPECT_EQ(found_by(facts.evidence, "all_in_one_place").verdict.group, "all ranks");
  facts.gpu(1, 100, 690);  // now it computes
  EXPECT_FALSE(has_rule(facts.evidence, "all_in_one_place"));
}

TEST(StacksTest, AGraphLaunchAndAHostSynchronisation) {
  Facts facts;
  facts.stack(0, kItem);
  facts.stack(1, {"cudaGraphLaunch (libcudart.so.13)", "replay (torch/cuda/graphs.py:88)"});
  const Candidate found = found_by(facts.evidence, "graph_replay");
  EXPECT_EQ(found.verdict.kind, FaultKind::graph_capture);
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.verdict.suspects, (Labels{"0", "1"}));
  EXPECT_EQ(found.verdict.culprits, Labels{});
  facts.stack(2, kForward);
  EXPECT_FALSE(has_rule(facts.evidence, "graph_replay"));
}

TEST(StacksTest, TwoCallsAtOnceAreAMismatchOrAnOrder) {
  Facts facts;
  for (const int rank : {0, 1, 2}) facts.stack(rank, kGather);
  facts.stack(3, {"all_reduce (torch/distributed/distributed_c10d.py:2501)"});
  const Candidate mismatch = found_by(facts.evidence, "two_collectives");
  EXPECT_EQ(mismatch.verdict.kind, FaultKind::op_mismatch);
  EXPECT_EQ(mismatch.verdict.suspects, Labels{"3"});
  facts.evidence.stacks.back().frames = {"monitored_barrier (torch/distributed/distributed_c10d.py:4)"};
  EXPECT_EQ(found_by(facts.evidence, "two_collectives").verdict.kind, FaultKind::order_inversion);
}

TEST(StacksTest, AllHostsAtTwoSynchronisations) {
  Facts facts;
  facts.stack(0, {"synchronize (torch/cuda/__init__.py:985)", "warm_up (train.py:210)"});
  facts.stack(1, {"tolist (torch/_tensor.py:1023)", "split (train.py:188)"});
  const Candidate found = found_by(facts.evidence, "two_host_syncs");
  EXPECT_EQ(found.verdict.kind, FaultKind::order_inversion);
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  facts.evidence.stacks.back().frames = facts.evidence.stacks.front().frames;
  EXPECT_FALSE(has_rule(facts.evidence, "two_host_syncs"));
}

}  // namespace
}  // namespace ringcomm::diag
