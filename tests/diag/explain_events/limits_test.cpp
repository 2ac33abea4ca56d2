// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(LimitsTest, SegmentsThatCannotBeMadeNameTheirDevices) {
  Facts facts;
  facts.event(EventKind::shm_failed, Facts::process("n1", 9, 6),
              "failed to extend /dev/shm/nccl-a to 5967876 bytes");
  facts.event(EventKind::shm_failed, Facts::process("n1", 9, 4),
              "failed to extend /dev/shm/nccl-b to 5967876 bytes");
  facts.event(EventKind::peer_closed, Facts::process("n1", 9, 1), "Connection closed by remote peer n1")
      .peer.host = "n1";
  const Candidate found = found_by(facts.evidence, "shm_failed");
  EXPECT_EQ(found.verdict.kind, FaultKind::resource_limit);
  EXPECT_EQ(found.verdict.grade, Grade::certain);
  EXPECT_EQ(found.weight, Weight::root);
  EXPECT_EQ(found.verdict.culprits, (Labels{"4", "6"}));
  EXPECT_NE(found.verdict.fix.find("--shm-size"), std::string::npos);
}

TEST(LimitsTest, LockedMemoryIsAMatterOfTheHost) {
  Facts facts;
  facts.event(EventKind::memlock_failed, Facts::process("n1", 9, 6), "Call to ibv_create_cq failed");
  facts.event(EventKind::memlock_failed, Facts::process("n1", 8, 0), "Call to ibv_create_cq failed");
  const Candidate found = found_by(facts.evidence, "memlock_failed");
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, Labels{"n1: limit of locked memory"});
  EXPECT_EQ(found.verdict.grade, Grade::likely);
}

TEST(LimitsTest, GpuMemoryCountsWhereACommunicatorStarts) {
  Facts facts;
  facts.event(EventKind::cuda_oom, Facts::process("n1", 7, 10), "Cuda failure 'out of memory'");
  facts.event(EventKind::return_code, Facts::process("n1", 7, 10), "src/init.cc:792 -> 1");
  facts.event(EventKind::transport_used, Facts::process("n1", 7, 9),
              "Channel 00 : 9[b2000] -> 10[b4000] via P2P/IPC");
  const Candidate found = found_by(facts.evidence, "gpu_memory");
  EXPECT_EQ(found.verdict.culprits, Labels{"10"});
  EXPECT_EQ(found.verdict.op, "ncclCommInitRank");
}

TEST(LimitsTest, GpuMemoryInARunningJobIsNoLimitOfTheStart) {
  Facts facts;
  facts.event(EventKind::cuda_oom, Facts::rank(1), "out of memory");
  facts.timeout(0, 900);
  EXPECT_FALSE(has_rule(facts.evidence, "gpu_memory"));
}

TEST(LimitsTest, AnExceptionOfTheFrameworkIsNoLimitOfTheStart) {
  Facts facts;
  facts.event(EventKind::cuda_oom, Facts::rank(1),
              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate");
  EXPECT_FALSE(has_rule(facts.evidence, "gpu_memory"));
}

TEST(LimitsTest, OpenFilesAreToldFromOtherSystemErrors) {
  Facts facts;
  facts.event(EventKind::system_error, Facts::rank(1), "Call to socket failed : Permission denied");
  EXPECT_FALSE(has_rule(facts.evidence, "open_files"));
  facts.event(EventKind::system_error, Facts::rank(1), "Call to socket failed : Too many open files");
  EXPECT_EQ(found_by(facts.evidence, "open_files").verdict.culprits, Labels{"1"});
}

}  // namespace
}  // namespace ringcomm::diag
