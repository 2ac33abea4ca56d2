// SPDX-License-Identifier: Apache-2.0
// Huge scores, NaN, infinities and memory that must not be read: the oracle's own NaN and -inf say where such
// values belong.
#include <sys/mman.h>

#include <cstring>

#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

using BlockKernelSpecialValuesTest = BlockKernelCase;

TEST_P(BlockKernelSpecialValuesTest, ScoresOfTenThousandNeitherOverflowNorVanish) {
  Problem problem = this->problem(70, 150, Mask::full);
  problem.shape.scale = 1.0F;
  Tensors tensors(problem);
  tensors.q.fill([](auto row, auto, auto d) { return d == 0 ? (row % 2 == 0 ? 100.0F : -100.0F) : 0.0F; });
  tensors.k.fill([](auto row, auto, auto d) { return d == 0 ? (row % 3 == 0 ? 100.0F : -100.0F) : 0.0F; });
  const Outputs outputs = run_kernel(GetParam().variant, problem, tensors, {{0, 3}, {3, 147}});
  const Errors errors = compare(problem, outputs, run_oracle(problem, tensors));
  EXPECT_EQ(errors.wrong_empty, 0);
  EXPECT_LE(errors.lse_max, 2e-3);  // two units in the last place of 1e4
  EXPECT_LE(errors.out_rms, GetParam().dtype == DType::float32 ? 1e-6 : 1e-3);
}

TEST_P(BlockKernelSpecialValuesTest, ScoreOfMinusInfinityWeighsNothing) {
  const Problem problem = this->problem(3, 4, Mask::full);
  Tensors tensors(problem);
  tensors.q.fill([](auto, auto, auto d) { return d == 0 ? 1.0F : 0.0F; });
  tensors.k.fill([](auto row, auto, auto d) { return d == 0 && row < 3 ? -INFINITY : 0.0F; });
  tensors.v.set(0, 0, 0, INFINITY);  // 0 * inf in the sums, which must not come out of a row without weight
  const auto alone = run_kernel(GetParam().variant, problem, tensors, {{0, 3}});
  EXPECT_EQ(alone.lse[1], -INFINITY);
  EXPECT_EQ(test::element(alone.out.view(), 1, 0, 0), 0);
  const auto all = run_kernel(GetParam().variant, problem, tensors, {{0, 2}, {2, 2}});
  EXPECT_EQ(all.lse[1], 0.0F);
  EXPECT_EQ(test::element(all.out.view(), 1, 0, 5), test::element(tensors.v.view(), 3, 0, 5));
}

/// Plants `value` in one element, then expects NaN, -inf and zeros exactly where the oracle has them.
void expect_value_stays_where_seen(const Problem& problem, Tensors& tensors, const KernelUnderTest& kernel,
                                   const std::vector<Piece>& pieces) {
  const Outputs outputs = run_kernel(kernel.variant, problem, tensors, pieces);
  const Errors errors = compare(problem, outputs, run_oracle(problem, tensors));
  EXPECT_EQ(errors.wrong_empty, 0);
  EXPECT_LE(errors.out_rms, kernel.dtype == DType::float32 ? 1e-5 : 1e-2);
}

TEST_P(BlockKernelSpecialValuesTest, NanInAKeyReachesExactlyTheRowsThatSeeIt) {
  for (const VisibleBand band : {VisibleBand{0, VisibleBand::kInfinite}, VisibleBand{-3, 20}}) {
    Problem problem = this->problem(150, 150);
    problem.band = band;
    Tensors tensors(problem);
    tensors.k.set(70, 0, 9, NAN);
    expect_value_stays_where_seen(problem, tensors, GetParam(), {{0, 150}});
    expect_value_stays_where_seen(problem, tensors, GetParam(), {{60, 90}, {0, 60}});
  }
}

TEST_P(BlockKernelSpecialValuesTest, NanAndInfinityInAValueReachExactlyTheRowsThatSeeThem) {
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    const Problem problem = this->problem(150, 150);
    Tensors tensors(problem);
    tensors.v.set(70, 0, 9, value);
    expect_value_stays_where_seen(problem, tensors, GetParam(), {{0, 150}});
  }
}

TEST_P(BlockKernelSpecialValuesTest, NanInAQueryStaysInItsRow) {
  const Problem problem = this->problem(70, 70);
  Tensors tensors(problem);
  tensors.q.set(33, 0, 1, NAN);
  expect_value_stays_where_seen(problem, tensors, GetParam(), {{0, 70}});
}

/// Rows that end where unreadable memory begins.
class GuardedTensor {
 public:
  explicit GuardedTensor(const TensorView& source) : view_(source) {
    void* memory = mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = static_cast<std::byte*>(memory);
    EXPECT_EQ(mprotect(memory_ + kBytes, kPage, PROT_NONE), 0);
    EXPECT_LE(source.bytes(), kBytes);
    view_.data = std::memcpy(memory_ + kBytes - source.bytes(), source.data, source.bytes());
  }
  GuardedTensor(const GuardedTensor&) = delete;
  GuardedTensor& operator=(const GuardedTensor&) = delete;
  ~GuardedTensor() { munmap(memory_, kBytes + kPage); }
  const TensorView& view() const { return view_; }

 private:
  static constexpr std::size_t kPage = 4096, kBytes = 32 * kPage;
  std::byte* memory_;
  TensorView view_;
};

TEST_P(BlockKernelSpecialValuesTest, NothingBehindTheLastRowIsTouched) {
  for (const std::int64_t rows : {1, 2, 63, 65, 130}) {
    const Problem problem = this->problem(rows, rows, Mask::full);
    const Tensors tensors(problem);
    const Outputs plain = run_kernel(GetParam().variant, problem, tensors);
    const GuardedTensor q(tensors.q.view()), k(tensors.k.view()), v(tensors.v.view());
    Outputs outputs(problem.shape);
    const GuardedTensor out(outputs.out.view());
    PretendedTeam team(1);
    const auto kernel = make_kernel(GetParam().variant, problem.shape, team);
    ASSERT_NE(kernel, nullptr);
    kernel->begin(q.view());
    kernel->accumulate(range_of(problem, {0, rows}), k.view(), v.view());
    kernel->finish(out.view(), outputs.lse_view(problem.shape));
    EXPECT_EQ(std::memcmp(out.view().data, plain.out.view().data, out.view().bytes()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockKernelSpecialValuesTest, ::testing::ValuesIn(all_kernels()), name_of_case);

}  // namespace
}  // namespace ringcomm::attention
