// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::diag {
namespace {

TEST(EvidenceNamesTest, OperationsOfManySourcesAreTheSame) {
  for (const char* const name : {"ALLGATHER", "_ALLGATHER_BASE", "nccl:_all_gather_base", "AllGather",
                                 "ncclAllGather", "all_gather_into_tensor_coalesced", "AllGather(59205120)"})
    EXPECT_EQ(op_class_of(name), OpClass::all_gather) << name;
  EXPECT_EQ(op_class_of("nccl:send 0->1"), OpClass::send);
  EXPECT_EQ(op_class_of("nccl:recv 1<-0"), OpClass::recv);
  EXPECT_EQ(op_class_of("allreduce_coalesced"), OpClass::all_reduce);
  EXPECT_EQ(op_class_of("_REDUCE_SCATTER_BASE"), OpClass::reduce_scatter);
  EXPECT_EQ(op_class_of("ALLTOALL_BASE"), OpClass::all_to_all);
  EXPECT_EQ(op_class_of("nccl:coalesced"), OpClass::coalesced);
  EXPECT_EQ(op_class_of("ncclCommInitRankConfig"), OpClass::init);
  EXPECT_EQ(op_class_of("optimizer"), OpClass::unknown);
  EXPECT_EQ(op_class_of(""), OpClass::unknown);
}

TEST(EvidenceNamesTest, NamesAreTheEnumerators) {
  EXPECT_EQ(name_of(OpClass::unknown), "unknown");
  EXPECT_EQ(name_of(OpClass::init), "init");
  EXPECT_EQ(name_of(EventKind::exception), "exception");
  EXPECT_EQ(name_of(EventKind::xid), "xid");
  EXPECT_EQ(name_of(EventKind::other), "other");
  for (int i = 0; i <= static_cast<int>(OpClass::init); ++i) {
    const auto op = static_cast<OpClass>(i);
    EXPECT_EQ(op_class_of(name_of(op)), op) << name_of(op);
  }
}

}  // namespace
}  // namespace ringcomm::diag
