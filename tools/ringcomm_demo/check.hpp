// SPDX-License-Identifier: Apache-2.0
// The demo's oracle: dense attention in float64 from the same rounded inputs, without any part of ringcomm's
// data path.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace ringcomm::demo {

/// Sums over the checked elements of one rank; they add up over ranks.
struct CheckSums {
  double rows = 0;           ///< (position, head) pairs
  double error_squares = 0;  ///< (out - oracle)^2
  double value_squares = 0;  ///< oracle^2
  double rounding_squares =
      0;  ///< (bf16(oracle) - oracle)^2: what one rounding of the result costs by itself
  double error_max = 0;
  double lse_error_max = 0;
  double not_finite = 0;
  std::vector<double> effective_keys;  ///< exp(entropy) of each checked row
};

/// Positions of this rank to check: the first and last row of each of its chunks, and evenly spread ones,
/// `count` in all at least (fewer if the rank has fewer rows). Rows index the rank's shard.
std::vector<std::int64_t> rows_to_check(const std::vector<std::int64_t>& positions, std::int64_t count);

/// out [rows, q_heads, dim] bf16 and lse [q_heads, rows] fp32 of this rank against the oracle, causal mask.
CheckSums check_rows(const Model& model, std::string_view text, const std::vector<std::int64_t>& positions,
                     const std::vector<std::int64_t>& rows, const TensorView& out, const TensorView& lse);

}  // namespace ringcomm::demo
