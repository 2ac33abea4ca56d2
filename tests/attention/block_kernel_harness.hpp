// SPDX-License-Identifier: Apache-2.0
// Runs a block kernel on test tensors and compares it with the float64 oracle.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/block_kernel.hpp"
#include "attention/host/kernel_factories.hpp"
#include "support/host_tensor.hpp"
#include "support/oracle_attention.hpp"

namespace ringcomm::attention {

/// Runs the bodies one after another in a shuffled order on pretended workers: what a kernel computes must
/// not depend on who computes it or when.
class PretendedTeam final : public WorkerTeam {
 public:
  explicit PretendedTeam(int workers) : workers_(workers) {}
  int size() const override { return workers_; }
  void for_each(std::int64_t count, const std::function<void(std::int64_t, int)>& body) override {
    for (std::int64_t step = 0; step < count; ++step) {
      const std::int64_t index = workers_ % 2 == 0 ? count - 1 - step : step;
      body(index, static_cast<int>(step % workers_));
    }
  }

 private:
  int workers_;
};

struct Problem {
  KernelShape shape;
  std::int64_t keys = 0;
  VisibleBand band{};
  test::Gaps gaps{};
  float q_factor = 1.0F;
  unsigned seed = 1;
};

struct Tensors {
  test::HostTensor q, k, v;
  explicit Tensors(const Problem& p)
      : q(p.shape.dtype, p.shape.q_rows, p.shape.q_heads, p.shape.head_dim, p.gaps),
        k(p.shape.dtype, p.keys, p.shape.kv_heads, p.shape.head_dim, p.gaps),
        v(p.shape.dtype, p.keys, p.shape.kv_heads, p.shape.head_dim, p.gaps) {
    q.fill_normal(p.seed, p.q_factor);
    k.fill_normal(p.seed + 1);
    v.fill_normal(p.seed + 2);
  }
};

struct Outputs {
  test::HostTensor out;
  std::vector<float> lse;  // [q_heads, q_rows]
  explicit Outputs(const KernelShape& shape)
      : out(shape.dtype, shape.q_rows, shape.q_heads, shape.head_dim),
        lse(static_cast<std::size_t>(shape.q_heads * shape.q_rows), NAN) {}
  TensorView lse_view(const KernelShape& shape) {
    return TensorView::contiguous(lse.data(), DType::float32, {shape.q_heads, shape.q_rows});
  }
};

/// Rows [first, first + count) of the keys, fed as one block.
struct Piece {
  std::int64_t first = 0, count = 0;
};

inline BlockRange range_of(const Problem& problem, const Piece& piece) {
  BlockRange range{.q_first = 0, .q_count = problem.shape.q_rows};
  const Rectangle rectangle = classify(problem.band, 0, problem.shape.q_rows, piece.first, piece.count);
  range.is_full = rectangle.visibility == Visibility::full;
  range.local = {problem.band.lower + piece.first, problem.band.upper + piece.first};
  return range;
}

/// Every implementation that a shape could meet on some machine.
enum class Variant : unsigned char {
  scalar,
  avx2,
  avx512,        ///< what BlockKernel::create gives at CpuLevel::avx512_bf16
  avx512_dot,    ///< bfloat16 by VDPBF16PS, whatever this CPU prefers
  avx512_widen,  ///< bfloat16 by fp32 multiply-add
};
std::string name_of(Variant variant);
inline bool is_vector(Variant variant) { return variant != Variant::scalar; }
/// The level that the variant needs.
CpuLevel level_of(Variant variant);

std::unique_ptr<BlockKernel> make_kernel(Variant variant, const KernelShape& shape, WorkerTeam& team);

/// One forward pass; no pieces means all keys at once.
Outputs run_kernel(Variant variant, const Problem& problem, const Tensors& tensors,
                   std::vector<Piece> pieces = {}, int workers = 1);

/// (implementation, dtype, head_dim): a suite derived from it runs for all that exist and skips, counted, the
/// vector ones where the CPU lacks them.
struct KernelUnderTest {
  Variant variant;
  DType dtype;
  int head_dim;
};
class BlockKernelCase : public ::testing::TestWithParam<KernelUnderTest> {
 protected:
  void SetUp() override {
    const CpuLevel level = level_of(GetParam().variant);
    if (best_cpu_level() < level) GTEST_SKIP() << "this CPU lacks " << ringcomm::name_of(level);
  }
  Problem problem(std::int64_t q_rows, std::int64_t keys, Mask mask = Mask::causal) const {
    Problem made;
    made.shape = {.q_rows = q_rows, .head_dim = GetParam().head_dim, .dtype = GetParam().dtype};
    made.shape.scale = 1.0F / std::sqrt(static_cast<float>(GetParam().head_dim));
    made.keys = keys;
    made.band = band_of(mask);
    return made;
  }
};
/// Every variant and dtype at head dims 64 and 128.
std::vector<KernelUnderTest> all_kernels();
/// Every variant at the other head dims, in one dtype per arithmetic.
std::vector<KernelUnderTest> kernels_of_other_head_dims();
std::string name_of_case(const ::testing::TestParamInfo<KernelUnderTest>& info);

inline test::OracleResult run_oracle(const Problem& problem, const Tensors& tensors) {
  test::OracleProblem dense;
  dense.q = tensors.q.view();
  dense.k = tensors.k.view();
  dense.v = tensors.v.view();
  dense.scale = double{problem.shape.scale};
  dense.band = problem.band;
  return test::oracle_attention(dense);
}

/// Distance of a kernel's outputs from the oracle's.
struct Errors {
  double out_max = 0, out_rms = 0;
  double oracle_rms = 0;  ///< of the oracle's output
  double lse_max = 0;
  std::int64_t wrong_empty = 0;  ///< rows whose NaN, -inf or zero differ from the oracle's
};

Errors compare(const Problem& problem, const Outputs& outputs, const test::OracleResult& oracle);

/// Attention spec 6.14: fp32 within 2e-6 * sqrt(keys) of values of order 1; 16-bit types within 1.1 times the
/// error of the scalar kernel plus half a unit in the last place of the output.
void expect_accurate(const KernelUnderTest& kernel, const Problem& problem, const Tensors& tensors,
                     const Outputs& outputs);

}  // namespace ringcomm::attention
