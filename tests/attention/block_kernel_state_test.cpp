// SPDX-License-Identifier: Apache-2.0
// What is carried from block to block: the oracle sees all keys at once, the kernel piece by piece, row range
// by row range, with any number of workers.
#include <cstring>

#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

using BlockKernelStateTest = BlockKernelCase;

TEST_P(BlockKernelStateTest, PiecesInAnyOrderEqualOnePiece) {
  Problem problem = this->problem(150, 333);
  problem.shape.q_heads = 2;
  problem.band = {-150, 200};
  const Tensors tensors(problem);
  const std::vector<std::vector<Piece>> cuts = {
      {{0, 128}, {128, 205}},
      {{200, 133}, {0, 1}, {1, 199}},
      {{332, 1}, {64, 64}, {0, 64}, {128, 0}, {128, 204}},
  };
  for (const auto& pieces : cuts) {
    expect_accurate(GetParam(), problem, tensors, run_kernel(GetParam().variant, problem, tensors, pieces));
  }
}

/// Rows [first, first + count) of a problem against all of its keys.
BlockRange rows_range(const Problem& problem, std::int64_t first, std::int64_t count) {
  return {
      .q_first = first, .q_count = count, .local = {problem.band.lower - first, problem.band.upper - first}};
}

TEST_P(BlockKernelStateTest, RowRangesMayStartAnywhere) {
  const Problem problem = this->problem(150, 150);
  const Tensors tensors(problem);
  PretendedTeam team(1);
  const auto kernel = make_kernel(GetParam().variant, problem.shape, team);
  ASSERT_NE(kernel, nullptr);
  Outputs outputs(problem.shape);
  kernel->begin(tensors.q.view());
  for (const auto [first, count] : {Piece{0, 1}, Piece{71, 79}, Piece{1, 70}, Piece{9, 0}}) {
    kernel->accumulate(rows_range(problem, first, count), tensors.k.view(), tensors.v.view());
  }
  kernel->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  expect_accurate(GetParam(), problem, tensors, outputs);
}

TEST_P(BlockKernelStateTest, RowsOutsideTheRangeKeepTheirState) {
  const Problem problem = this->problem(100, 40, Mask::full);
  Tensors tensors(problem);
  for (int d = 0; d < problem.shape.head_dim; ++d) tensors.v.set(7, 0, d, NAN);
  PretendedTeam team(1);
  const auto kernel = make_kernel(GetParam().variant, problem.shape, team);
  ASSERT_NE(kernel, nullptr);
  Outputs outputs(problem.shape);
  kernel->begin(tensors.q.view());
  kernel->accumulate(rows_range(problem, 30, 41), tensors.k.view(), tensors.v.view());
  kernel->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  for (std::int64_t row = 0; row < 100; ++row) {
    const bool in_range = row >= 30 && row < 71;
    EXPECT_EQ(std::isfinite(outputs.lse[static_cast<std::size_t>(row)]), in_range) << row;
    const double out = test::element(outputs.out.view(), row, 0, 5);
    EXPECT_TRUE(in_range ? std::isnan(out) : out == 0) << row << ": " << out;
  }
}

TEST_P(BlockKernelStateTest, NumberOfWorkersDoesNotChangeABit) {
  Problem problem = this->problem(300, 300);
  problem.shape.q_heads = 6;
  problem.shape.kv_heads = 2;
  const Tensors tensors(problem);
  const std::vector<Piece> pieces = {{0, 100}, {100, 200}};
  const Outputs one = run_kernel(GetParam().variant, problem, tensors, pieces, 1);
  for (const int workers : {2, 3, 8}) {
    const Outputs many = run_kernel(GetParam().variant, problem, tensors, pieces, workers);
    EXPECT_EQ(std::memcmp(many.lse.data(), one.lse.data(), one.lse.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(many.out.view().data, one.out.view().data, one.out.view().bytes()), 0);
  }
}

/// The implementations above scalar, on tiles of `width`.
Outputs run_on_tiles(const KernelUnderTest& kernel, const Problem& problem, const Tensors& tensors,
                     host::TileWidth width) {
  PretendedTeam team(1);
  Outputs outputs(problem.shape);
  const CpuLevel level = level_of(kernel.variant);
  const auto arithmetic =
      kernel.variant == Variant::avx512_widen ? host::Bf16Arithmetic::widen : host::Bf16Arithmetic::dot;
  const auto tiled = host::make_tiled_kernel(
      problem.shape, host::vector_ops(level, problem.shape.dtype, arithmetic, width), level, team);
  tiled->begin(tensors.q.view());
  tiled->accumulate(range_of(problem, {0, problem.keys}), tensors.k.view(), tensors.v.view());
  tiled->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  return outputs;
}

TEST_P(BlockKernelStateTest, NarrowTilesGiveTheBitsOfWideOnes) {
  if (!is_vector(GetParam().variant)) return;
  for (const std::int64_t rows : {3, 16, 40}) {
    Problem problem = this->problem(rows, 205);
    problem.shape.q_heads = 4;
    problem.shape.kv_heads = 2;
    problem.band = {-180, 21};
    const Tensors tensors(problem);
    const Outputs wide = run_on_tiles(GetParam(), problem, tensors, host::TileWidth::wide);
    const Outputs narrow = run_on_tiles(GetParam(), problem, tensors, host::TileWidth::narrow);
    EXPECT_EQ(narrow.lse, wide.lse);
    EXPECT_EQ(std::memcmp(narrow.out.view().data, wide.out.view().data, wide.out.view().bytes()), 0) << rows;
    expect_accurate(GetParam(), problem, tensors, narrow);
  }
}

TEST_P(BlockKernelStateTest, RealThreadsShareNothingButTheirInputs) {
  Problem problem = this->problem(200, 150);
  problem.shape.q_heads = 4;
  problem.shape.kv_heads = 2;
  const Tensors tensors(problem);
  const Outputs alone = run_kernel(GetParam().variant, problem, tensors);
  auto team = WorkerTeam::create(3, {});
  ASSERT_TRUE(team.is_ok()) << team.status().to_string();
  const auto kernel = make_kernel(GetParam().variant, problem.shape, *team.value());
  ASSERT_NE(kernel, nullptr);
  Outputs outputs(problem.shape);
  kernel->begin(tensors.q.view());
  kernel->accumulate(range_of(problem, {0, 150}), tensors.k.view(), tensors.v.view());
  kernel->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  EXPECT_EQ(outputs.lse, alone.lse);
  EXPECT_EQ(std::memcmp(outputs.out.view().data, alone.out.view().data, alone.out.view().bytes()), 0);
}

TEST_P(BlockKernelStateTest, BeginForgetsThePassBefore) {
  const Problem problem = this->problem(65, 65);
  const Tensors tensors(problem);
  PretendedTeam team(1);
  const auto kernel = make_kernel(GetParam().variant, problem.shape, team);
  ASSERT_NE(kernel, nullptr);
  Outputs first(problem.shape), second(problem.shape);
  for (Outputs* outputs : {&first, &second}) {
    kernel->begin(tensors.q.view());
    kernel->accumulate(range_of(problem, {0, 65}), tensors.k.view(), tensors.v.view());
    kernel->finish(outputs->out.view(), outputs->lse_view(problem.shape));
  }
  EXPECT_EQ(first.lse, second.lse);
  EXPECT_EQ(std::memcmp(first.out.view().data, second.out.view().data, first.out.view().bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, BlockKernelStateTest, ::testing::ValuesIn(all_kernels()), name_of_case);

}  // namespace
}  // namespace ringcomm::attention
