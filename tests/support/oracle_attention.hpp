// SPDX-License-Identifier: Apache-2.0
// Dense attention in float64: the oracle of every attention test.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringcomm/attention/mask.hpp"
#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::test {

struct OracleResult {
  std::vector<double> out;  ///< [rows asked for, q_heads, head_dim]; 0 in rows without keys
  std::vector<double> lse;  ///< [q_heads, rows asked for], natural log; -inf in rows without keys
};

/// Exact inputs (float32, bfloat16 or float16, any strides), all arithmetic in double.
struct OracleProblem {
  TensorView q;  ///< [q rows, q_heads, head_dim]
  TensorView k;  ///< [keys, kv_heads, head_dim]
  TensorView v;
  double scale = 1.0;
  VisibleBand band{};                  ///< on global positions
  std::vector<std::int64_t> q_global;  ///< position of each q row; empty: 0, 1, 2, ...
  std::vector<std::int64_t> k_global;  ///< position of each key; empty: 0, 1, 2, ...
  std::vector<std::int64_t> rows;      ///< q rows to compute; empty: all
};

OracleResult oracle_attention(const OracleProblem& problem);

/// Element of a float32, bfloat16 or float16 tensor of three axes ([rows, heads, dim]) as double.
double element(const TensorView& tensor, std::int64_t row, std::int64_t head, std::int64_t dim);

}  // namespace ringcomm::test
