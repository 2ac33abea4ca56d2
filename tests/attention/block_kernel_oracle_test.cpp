// SPDX-License-Identifier: Apache-2.0
// The oracle is dense attention in float64 on the same rounded inputs; every implementation is held to it
// over odd lengths, signed bands and head groups.
#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

constexpr std::int64_t kFar = VisibleBand::kInfinite;
struct Lengths {
  std::int64_t q_rows, keys;
};
struct Heads {
  int q, kv;
};
constexpr Lengths kLengths[] = {{0, 5},     {5, 0},   {1, 1},   {1, 200},   {2, 2},
                                {63, 65},   {64, 64}, {65, 63}, {127, 129}, {129, 127},
                                {200, 200}, {200, 1}, {16, 40}, {5, 300},   {17, 130}};
constexpr Heads kHeads[] = {{1, 1}, {4, 1}, {8, 2}, {3, 3}};
/// Full, causal, a window, causal shifted both ways (the second leaves rows without keys), only later keys,
/// nothing.
constexpr VisibleBand kBands[] = {{-kFar, kFar}, {0, kFar}, {0, 7},      {-40, kFar},
                                  {50, kFar},    {-70, -5}, {1000, 2000}};

using BlockKernelOracleTest = BlockKernelCase;

TEST_P(BlockKernelOracleTest, EveryLengthBandAndHeadGroup) {
  unsigned index = 0;
  for (const Lengths& lengths : kLengths) {
    for (const VisibleBand& band : kBands) {
      ++index;
      if (lengths.q_rows * lengths.keys > 4000 && index % 5 != 0) continue;  // the oracle takes the time
      Problem problem = this->problem(lengths.q_rows, lengths.keys);
      const Heads& heads = kHeads[index % 4];
      problem.shape.q_heads = heads.q;
      problem.shape.kv_heads = heads.kv;
      problem.band = band;
      problem.seed = index;
      SCOPED_TRACE(::testing::Message()
                   << lengths.q_rows << " queries, " << lengths.keys << " keys, band " << band.lower << " .. "
                   << band.upper << ", heads " << heads.q << "/" << heads.kv);
      const Tensors tensors(problem);
      expect_accurate(GetParam(), problem, tensors, run_kernel(GetParam().variant, problem, tensors));
      if (HasFailure()) return;
    }
  }
}

TEST_P(BlockKernelOracleTest, ScaleMayBeNegativeOrZero) {
  for (const float scale : {-0.1F, 0.0F}) {
    Problem problem = this->problem(70, 70);
    problem.shape.scale = scale;
    const Tensors tensors(problem);
    expect_accurate(GetParam(), problem, tensors, run_kernel(GetParam().variant, problem, tensors));
  }
}

TEST_P(BlockKernelOracleTest, StridedViewsAreReadAndWrittenInPlace) {
  Problem problem = this->problem(67, 67);
  problem.shape.q_heads = 4;
  problem.shape.kv_heads = 2;
  problem.gaps = {.row = 5, .head = 3};  // NaN lies in the gaps
  const Tensors tensors(problem);
  expect_accurate(GetParam(), problem, tensors, run_kernel(GetParam().variant, problem, tensors));
}

TEST_P(BlockKernelOracleTest, FloatOutputOfSixteenBitInputsIsNotRounded) {
  Problem problem = this->problem(100, 100);
  const Tensors tensors(problem);
  PretendedTeam team(1);
  const auto kernel = make_kernel(GetParam().variant, problem.shape, team);
  ASSERT_NE(kernel, nullptr);
  Problem wide = problem;
  wide.shape.dtype = DType::float32;
  Outputs outputs(wide.shape);
  kernel->begin(tensors.q.view());
  kernel->accumulate(range_of(problem, {0, 100}), tensors.k.view(), tensors.v.view());
  kernel->finish(outputs.out.view(), outputs.lse_view(wide.shape));
  const Errors errors = compare(wide, outputs, run_oracle(problem, tensors));
  const bool rounds_weights = GetParam().variant == Variant::avx512_dot ||
                              (GetParam().variant == Variant::avx512 && GetParam().dtype == DType::bfloat16);
  EXPECT_LE(errors.out_max, rounds_weights ? 0x1p-7 : 2e-5);
}

using BlockKernelHeadDimTest = BlockKernelCase;

TEST_P(BlockKernelHeadDimTest, EveryHeadDimIsComputed) {
  for (const Lengths& lengths : {Lengths{1, 3}, Lengths{77, 141}}) {
    for (const VisibleBand& band : {VisibleBand{-kFar, kFar}, VisibleBand{-64, kFar}, VisibleBand{-50, 9}}) {
      Problem problem = this->problem(lengths.q_rows, lengths.keys);
      problem.shape.q_heads = 2;
      problem.band = band;
      const Tensors tensors(problem);
      expect_accurate(GetParam(), problem, tensors, run_kernel(GetParam().variant, problem, tensors));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockKernelHeadDimTest, ::testing::ValuesIn(kernels_of_other_head_dims()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(All, BlockKernelOracleTest, ::testing::ValuesIn(all_kernels()), name_of_case);

}  // namespace
}  // namespace ringcomm::attention
