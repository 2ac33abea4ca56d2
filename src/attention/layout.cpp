// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/attention/layout.hpp"

#include <numeric>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr int kRanksMax = 1 << 20;
// Far below VisibleBand::kInfinite, so that differences of positions and bounds never overflow.
constexpr std::int64_t kTokensMax = std::int64_t{1} << 60;

/// floor(index * tokens / parts) without the product's overflow.
std::int64_t bound(std::int64_t index, std::int64_t tokens, std::int64_t parts) {
  return index * (tokens / parts) + index * (tokens % parts) / parts;
}

int owner_of(Layout layout, int chunk, int ranks) {
  return layout == Layout::contiguous || chunk < ranks ? chunk : 2 * ranks - 1 - chunk;
}

}  // namespace

Result<ShardMap> ShardMap::create(Layout layout, std::int64_t tokens, int ranks) {
  if (tokens < 0 || tokens > kTokensMax) {
    return Status::invalid_argument(concat("shard map of ", tokens, " tokens (0 to 2^60 are possible)"));
  }
  if (ranks < 1 || ranks > kRanksMax) {
    return Status::invalid_argument(
        concat("shard map over ", ranks, " ranks (1 to ", kRanksMax, " are possible)"));
  }
  if (layout != Layout::contiguous && layout != Layout::zigzag) {
    return Status::invalid_argument(
        concat("layout number ", static_cast<int>(layout), " (0 is contiguous, 1 is zigzag)"));
  }
  ShardMap map;
  map.layout_ = layout;
  map.tokens_ = tokens;
  map.ranks_ = ranks;
  const int chunks = layout == Layout::zigzag ? 2 * ranks : ranks;
  for (int index = 0; index < chunks; ++index) {
    const std::int64_t first = bound(index, tokens, chunks);
    const int rank = owner_of(layout, index, ranks);
    const std::int64_t rows_before =
        rank == index ? 0 : map.chunks_[static_cast<std::size_t>(rank)].count;  // the early chunk lies first
    map.chunks_.push_back({.index = index,
                           .rank = rank,
                           .first = first,
                           .count = bound(index + 1, tokens, chunks) - first,
                           .local_first = rows_before});
  }
  return map;
}

std::vector<Chunk> ShardMap::chunks_of(int rank) const {
  if (rank < 0 || rank >= ranks_) return {};
  std::vector<Chunk> own{chunks_[static_cast<std::size_t>(rank)]};
  if (layout_ == Layout::zigzag) own.push_back(chunks_[static_cast<std::size_t>(2 * ranks_ - 1 - rank)]);
  return own;
}

std::int64_t ShardMap::rows_of(int rank) const {
  std::int64_t rows = 0;
  for (const Chunk& chunk : chunks_of(rank)) rows += chunk.count;
  return rows;
}

std::vector<std::int64_t> ShardMap::positions(int rank) const {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows_of(rank)));
  for (const Chunk& chunk : chunks_of(rank)) {
    const auto target = positions.begin() + chunk.local_first;
    std::iota(target, target + chunk.count, chunk.first);
  }
  return positions;
}

}  // namespace ringcomm::inline v0
