// SPDX-License-Identifier: Apache-2.0
// The oracle is the order of fields in the header: a descriptor that differs in several must name the first.
#include "ringcomm/core/descriptor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace ringcomm {
namespace {

const Descriptor kMine{.op = OpCode::ring_rotate,
                       .dtype = DType::bfloat16,
                       .reduce_op = ReduceOp::none,
                       .sequence = 5,
                       .bytes = 4096,
                       .signature = 77,
                       .step = 1,
                       .block = 2};

struct Field {
  std::function<void(Descriptor&)> change;
  std::string_view message;
};
const std::vector<Field> kFieldsInOrder{
    {[](Descriptor& d) { d.op = OpCode::all_gather; },
     "operation differs in ring_rotate #5: rank 1 has ring_rotate, rank 3 has all_gather"},
    {[](Descriptor& d) { d.sequence = 6; }, "sequence differs in ring_rotate #5: rank 1 has 5, rank 3 has 6"},
    {[](Descriptor& d) { d.bytes = 8192; },
     "block size in bytes differs in ring_rotate #5: rank 1 has 4096, rank 3 has 8192"},
    {[](Descriptor& d) { d.dtype = DType::float32; },
     "data type differs in ring_rotate #5: rank 1 has bfloat16, rank 3 has float32"},
    {[](Descriptor& d) { d.reduce_op = ReduceOp::softmax_normalised; },
     "reduce op differs in ring_rotate #5: rank 1 has none, rank 3 has softmax (out, lse)"},
    {[](Descriptor& d) { d.signature = 78; },
     "plan signature differs in ring_rotate #5: rank 1 has 77, rank 3 has 78"},
    {[](Descriptor& d) { d.step = 4; }, "step differs in ring_rotate #5: rank 1 has 1, rank 3 has 4"},
    {[](Descriptor& d) { d.block = 0; }, "block owner differs in ring_rotate #5: rank 1 has 2, rank 3 has 0"},
};

TEST(DescriptorTest, EqualDescriptorsAgree) { EXPECT_TRUE(compare(kMine, 0, kMine, 1).is_ok()); }

TEST(DescriptorTest, EachFieldThatDiffersIsNamedWithBothValues) {
  for (const auto& field : kFieldsInOrder) {
    Descriptor theirs = kMine;
    field.change(theirs);
    const Status status = compare(kMine, 1, theirs, 3);
    EXPECT_EQ(status.code(), StatusCode::mismatch);
    EXPECT_EQ(status.message(), field.message);
  }
}

TEST(DescriptorTest, TheFirstDifferenceInTheOrderWins) {
  Descriptor theirs = kMine;
  for (std::size_t i = kFieldsInOrder.size(); i-- > 0;) {
    kFieldsInOrder[i].change(theirs);
    const std::string_view expected = kFieldsInOrder[i].message;
    EXPECT_EQ(compare(kMine, 1, theirs, 3).message(), expected);
  }
}

TEST(DescriptorTest, BothSidesNameTheSameTwoValues) {
  Descriptor theirs = kMine;
  theirs.bytes = 8192;
  EXPECT_EQ(compare(theirs, 3, kMine, 1).message(),
            "block size in bytes differs in ring_rotate #5: rank 3 has 8192, rank 1 has 4096");
}

TEST(DescriptorTest, IsDescribedInOneLine) {
  EXPECT_EQ(describe(kMine), "ring_rotate #5 step 1, 4096 bytes of bfloat16");
}

TEST(DescriptorTest, OperationsHaveDistinctNamesAndUnknownOnesSaySo) {
  std::set<std::string_view> names;
  for (int op = 0; op <= static_cast<int>(OpCode::ring_attention); ++op) {
    EXPECT_TRUE(names.insert(name_of(static_cast<OpCode>(op))).second) << op;
  }
  EXPECT_EQ(name_of(static_cast<OpCode>(999)), "unknown operation");
  EXPECT_EQ(name_of(ReduceOp::softmax_unnormalised), "softmax (max, sum, out)");
  EXPECT_EQ(name_of(static_cast<ReduceOp>(99)), "unknown");
}

}  // namespace
}  // namespace ringcomm
