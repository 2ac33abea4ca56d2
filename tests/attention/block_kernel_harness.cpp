// SPDX-License-Identifier: Apache-2.0
#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

/// True when both are NaN, or both are the same infinity, or both are finite.
bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isinf(a) || std::isinf(b) ? a == b : true;
}

}  // namespace

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

}  // namespace ringcomm::attention
