// SPDX-License-Identifier: Apache-2.0
#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

/// True when both are NaN, or both are the same infinity, or both are finite.
bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isinf(a) || std::isinf(b) ? a == b : true;
}

/// Of a normal value of that size.
double half_ulp(DType dtype, double size) {
  const int fraction_bits = dtype == DType::bfloat16 ? 7 : dtype == DType::float16 ? 10 : 23;
  return size == 0 ? 0 : std::ldexp(1.0, std::ilogb(size) - fraction_bits - 1);
}

}  // namespace

std::string name_of(Variant variant) {
  switch (variant) {
    case Variant::scalar:
      return "scalar";
    case Variant::avx2:
      return "avx2";
    case Variant::avx512:
      return "avx512";
    case Variant::avx512_dot:
      return "avx512_dot";
    case Variant::avx512_widen:
      break;
  }
  return "avx512_widen";
}

CpuLevel level_of(Variant variant) {
  if (variant == Variant::scalar) return CpuLevel::scalar;
  return variant == Variant::avx2 ? CpuLevel::avx2 : CpuLevel::avx512_bf16;
}

std::unique_ptr<BlockKernel> make_kernel(Variant variant, const KernelShape& shape, WorkerTeam& team) {
  const CpuLevel level = level_of(variant);
  if (variant != Variant::avx512_dot && variant != Variant::avx512_widen) {
    auto created = BlockKernel::create(shape, level, team);
    EXPECT_TRUE(created.is_ok()) << created.status().to_string();
    if (!created.is_ok()) return nullptr;
    EXPECT_EQ(created.value()->level(), level);
    return std::move(created).value();
  }
  const auto arithmetic =
      variant == Variant::avx512_dot ? host::Bf16Arithmetic::dot : host::Bf16Arithmetic::widen;
  return host::make_tiled_kernel(
      shape, host::vector_ops(level, shape.dtype, arithmetic, host::faster_tile_width(shape.q_rows)), level,
      team);
}

Outputs run_kernel(Variant variant, const Problem& problem, const Tensors& tensors, std::vector<Piece> pieces,
                   int workers) {
  PretendedTeam team(workers);
  Outputs outputs(problem.shape);
  const auto kernel = make_kernel(variant, problem.shape, team);
  if (kernel == nullptr) return outputs;
  if (pieces.empty()) pieces = {{0, problem.keys}};
  kernel->begin(tensors.q.view());
  for (const Piece& piece : pieces) {
    kernel->accumulate(range_of(problem, piece), tensors.k.rows(piece.first, piece.count),
                       tensors.v.rows(piece.first, piece.count));
  }
  kernel->finish(outputs.out.view(), outputs.lse_view(problem.shape));
  return outputs;
}

std::vector<KernelUnderTest> all_kernels() {
  std::vector<KernelUnderTest> kernels;
  for (const int dim : {64, 128}) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      for (const Variant variant : {Variant::scalar, Variant::avx2, Variant::avx512}) {
        kernels.push_back({variant, dtype, dim});
      }
    }
    kernels.push_back({Variant::avx512_dot, DType::bfloat16, dim});
    kernels.push_back({Variant::avx512_widen, DType::bfloat16, dim});
  }
  return kernels;
}

std::vector<KernelUnderTest> kernels_of_other_head_dims() {
  std::vector<KernelUnderTest> kernels;
  for (const int dim : kHeadDims) {
    if (dim == 64 || dim == 128) continue;
    for (const Variant variant : {Variant::scalar, Variant::avx2, Variant::avx512}) {
      kernels.push_back({variant, DType::float32, dim});
    }
    kernels.push_back({Variant::avx512_dot, DType::bfloat16, dim});
    kernels.push_back({Variant::avx512_widen, DType::bfloat16, dim});
  }
  return kernels;
}

std::string name_of_case(const ::testing::TestParamInfo<KernelUnderTest>& info) {
  return name_of(info.param.variant) + "_" + std::string(ringcomm::name_of(info.param.dtype)) + "_" +
         std::to_string(info.param.head_dim);
}

Errors compare(const Problem& problem, const Outputs& outputs, const test::OracleResult& oracle) {
  Errors errors;
  std::size_t at = 0;
  double squares = 0, oracle_squares = 0;
  for (std::int64_t row = 0; row < problem.shape.q_rows; ++row) {
    for (std::int64_t head = 0; head < problem.shape.q_heads; ++head) {
      const auto lse_at = static_cast<std::size_t>(head * problem.shape.q_rows + row);
      const double lse = double{outputs.lse[lse_at]};
      if (!same_kind(lse, oracle.lse[lse_at])) ++errors.wrong_empty;
      if (std::isfinite(lse)) errors.lse_max = std::fmax(errors.lse_max, std::abs(lse - oracle.lse[lse_at]));
      for (std::int64_t d = 0; d < problem.shape.head_dim; ++d, ++at) {
        const double got = test::element(outputs.out.view(), row, head, d);
        const double want = oracle.out[at];
        if (!same_kind(got, want)) ++errors.wrong_empty;
        if (lse == -INFINITY && got != 0) ++errors.wrong_empty;
        if (!std::isfinite(got) || !std::isfinite(want)) continue;
        errors.out_max = std::fmax(errors.out_max, std::abs(got - want));
        squares += (got - want) * (got - want);
        oracle_squares += want * want;
      }
    }
  }
  if (at != 0) errors.out_rms = std::sqrt(squares / static_cast<double>(at));
  if (at != 0) errors.oracle_rms = std::sqrt(oracle_squares / static_cast<double>(at));
  return errors;
}

void expect_accurate(const KernelUnderTest& kernel, const Problem& problem, const Tensors& tensors,
                     const Outputs& outputs) {
  const auto oracle = run_oracle(problem, tensors);
  const Errors errors = compare(problem, outputs, oracle);
  const double keys = std::sqrt(std::fmax(1.0, static_cast<double>(problem.keys)));
  EXPECT_EQ(errors.wrong_empty, 0);
  EXPECT_LE(errors.lse_max, (kernel.variant == Variant::avx512_dot ? 4e-6 : 2e-6) * keys);
  if (kernel.dtype == DType::float32) {
    EXPECT_LE(errors.out_max, 2e-6 * keys);
    return;
  }
  const double half = half_ulp(kernel.dtype, errors.oracle_rms);
  if (!is_vector(kernel.variant)) {  // each output is rounded once, by at most half a unit of its own size
    EXPECT_LE(errors.out_rms, 2 * half + 2e-6 * keys);
    return;
  }
  const Errors scalar = compare(problem, run_kernel(Variant::scalar, problem, tensors), oracle);
  EXPECT_LE(errors.out_rms, 1.1 * scalar.out_rms + half);
}

}  // namespace ringcomm::attention
