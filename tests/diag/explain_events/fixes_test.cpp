// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "diag/explain/picture.hpp"

namespace ringcomm::diag {
namespace {

TEST(FixesTest, EveryKindHasItsOwnText) {
  std::set<std::string> texts;
  for (int i = 0; i <= static_cast<int>(FaultKind::insufficient_evidence); ++i) {
    const std::string fix = fix_of(static_cast<FaultKind>(i));
    EXPECT_GE(fix.size(), 20U) << name_of(static_cast<FaultKind>(i));
    EXPECT_TRUE(texts.insert(fix).second) << name_of(static_cast<FaultKind>(i));
    EXPECT_FALSE(collect_for(static_cast<FaultKind>(i)).empty()) << name_of(static_cast<FaultKind>(i));
  }
  EXPECT_EQ(texts.size(), 31U);
}

TEST(FixesTest, TheTextsStandBesideTheirKinds) {
  const auto has = [](FaultKind kind, std::string_view word) {
    return fix_of(kind).find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(FaultKind::rank_not_entered, "py-spy dump --native"));
  EXPECT_TRUE(has(FaultKind::p2p_cycle, "batch_isend_irecv"));
  EXPECT_TRUE(has(FaultKind::slot_reuse, "slot"));
  EXPECT_TRUE(has(FaultKind::rank_died, "dmesg -T"));
  EXPECT_TRUE(has(FaultKind::gpu_fault, "dcgmi diag"));
  EXPECT_TRUE(has(FaultKind::p2p_path_broken, "NCCL_P2P_DISABLE=1"));
  EXPECT_TRUE(has(FaultKind::net_config, "NCCL_SOCKET_IFNAME"));
  EXPECT_TRUE(has(FaultKind::resource_limit, "--shm-size"));
  EXPECT_TRUE(has(FaultKind::version_mismatch, "libnccl.so.2"));
  EXPECT_TRUE(has(FaultKind::teardown_hang, "destroy_process_group"));
  EXPECT_EQ(
      collect_for(FaultKind::insufficient_evidence).front().rfind("TORCH_NCCL_TRACE_BUFFER_SIZE=2000", 0),
      0U);
}

}  // namespace
}  // namespace ringcomm::diag
