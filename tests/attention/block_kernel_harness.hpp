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

inline Outputs run_kernel(CpuLevel level, const Problem& problem, const Tensors& tensors,
                          std::vector<Piece> pieces = {}, int workers = 1) {
  PretendedTeam team(workers);
  auto created = BlockKernel::create(problem.shape, level, team);
  Outputs outputs(problem.shape);
  EXPECT_TRUE(created.is_ok()) << created.status().to_string();
  if (!created.is_ok()) return outputs;
  const auto kernel = std::move(created).value();
  EXPECT_EQ(kernel->level(), level);
  if (pieces.empty()) pieces = {{0, problem.keys}};
  kernel->begin(tensors.q.view());
  for (const Piece& piece : pieces) {
    kernel->accumulate(range_of(problem, piece), tensors.k.rows(piece.first, piece.count),
                       tensors.v.rows(piece.first, piece.count));
  }
  kernel->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  return outputs;
}

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

}  // namespace ringcomm::attention
