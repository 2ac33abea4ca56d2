// SPDX-License-Identifier: Apache-2.0
// Shapes of the K and V blocks that rotate, and where K and V lie inside a block.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::collectives {

/// A block is K [rows, heads, k_dim] and V [rows, heads, v_dim] right behind it.
struct RotationBlocks {
  DType dtype = DType::float32;
  std::int64_t heads = 1;
  std::int64_t k_dim = 0;
  std::int64_t v_dim = 0;
  std::vector<std::int64_t> rows;  ///< by rank

  std::int64_t rows_of(int rank) const { return rows[static_cast<std::size_t>(rank)]; }
  std::uint64_t row_bytes() const {
    return static_cast<std::uint64_t>(heads * (k_dim + v_dim)) * bytes_of(dtype);
  }
  std::uint64_t k_bytes(int rank) const;
  std::uint64_t bytes(int rank) const;
  std::vector<std::uint64_t> all_bytes() const;
  /// Shapes only; the addresses are null.
  RotationPart part(int source) const;
};

/// invalid_argument names what does not fit.
Result<RotationBlocks> check_blocks(const Channel& channel, const TensorView& k, const TensorView& v,
                                    const RotationOptions& options);

}  // namespace ringcomm::inline v0::collectives
