// SPDX-License-Identifier: Apache-2.0
// Which tokens a rank holds: the single source of positions (attention spec 6.1). Any length, any number of
// ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class Layout : std::uint8_t {
  contiguous,  ///< rank r holds [floor(r*L/N), floor((r+1)*L/N))
  zigzag,      ///< bounds b_j = floor(j*L/(2N)); rank r holds chunk r, then chunk 2N-1-r
};

/// A run of tokens that sits together both globally and in its rank's shard.
struct Chunk {
  int index = 0;                 ///< global chunk number
  int rank = 0;                  ///< its owner
  std::int64_t first = 0;        ///< global position of the first token
  std::int64_t count = 0;        ///< may be 0
  std::int64_t local_first = 0;  ///< row in the owner's shard
};

/// The map of L tokens to N ranks. A value, the same on all ranks.
class ShardMap {
 public:
  /// invalid_argument for negative tokens or ranks < 1.
  static Result<ShardMap> create(Layout layout, std::int64_t tokens, int ranks);
  Layout layout() const { return layout_; }
  std::int64_t tokens() const { return tokens_; }
  int ranks() const { return ranks_; }
  int chunk_count() const { return static_cast<int>(chunks_.size()); }
  /// In global order: N (contiguous) or 2N (zigzag).
  const std::vector<Chunk>& chunks() const { return chunks_; }
  /// Chunks of one rank in the order of its shard (ascending positions).
  std::vector<Chunk> chunks_of(int rank) const;
  std::int64_t rows_of(int rank) const;
  /// [rows_of(rank)] global positions, ascending: for RoPE, masks and loading.
  std::vector<std::int64_t> positions(int rank) const;

 private:
  ShardMap() = default;
  Layout layout_ = Layout::contiguous;
  std::int64_t tokens_ = 0;
  int ranks_ = 1;
  std::vector<Chunk> chunks_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
