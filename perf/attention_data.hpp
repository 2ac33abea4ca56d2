// SPDX-License-Identifier: Apache-2.0
// Attention's inputs by global position, and its result in double: for ringcomm's cases and their MPI peers.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::perf {

enum class AttentionTensor : std::uint64_t { q = 1, k = 2, v = 3 };

struct AttentionShape {
  int q_heads = 1, kv_heads = 1;
  std::int64_t head_dim = 128;
  DType dtype = DType::bfloat16;

  /// K and V of one token.
  std::size_t token_bytes() const {
    return 2 * static_cast<std::size_t>(kv_heads * head_dim) * bytes_of(dtype);
  }
};

/// Rows of `view` [rows, heads, dim] get the values of the tokens at `positions`.
void fill_attention(const TensorView& view, const std::vector<std::int64_t>& positions,
                    AttentionTensor tensor);

/// The query at `position` in `head` against the keys at [key_first, key_first + key_count).
struct AttentionRow {
  std::int64_t position = 0, key_first = 0, key_count = 0;
  int head = 0;
};
/// 0, 1, ..., count - 1, from `first` on.
std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count);

/// Elements of `row` of `out` [rows, heads, dim] that are further from a softmax in double than rounding
/// explains: inputs lie in [-1, 1), so that bounds are absolute.
std::int64_t count_wrong_elements(const AttentionShape& shape, const AttentionRow& expected,
                                  const TensorView& out, std::int64_t row);

/// Four rows from first to final, or all if there are fewer: what the checks look at.
std::vector<std::int64_t> sample_rows(std::int64_t rows);
/// A few heads of many.
std::vector<int> sample_heads(int heads);

}  // namespace ringcomm::perf
