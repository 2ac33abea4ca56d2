// SPDX-License-Identifier: Apache-2.0
#include "attention_pieces.hpp"

#include <algorithm>

#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// Keys of `source` before global position `end`: its shard is in order, so that they are its first rows.
std::int64_t keys_before(const ShardMap& map, int source, std::int64_t end) {
  std::int64_t keys = 0;
  for (const Chunk& chunk : map.chunks_of(source))
    keys += std::clamp<std::int64_t>(end - chunk.first, 0, chunk.count);
  return keys;
}

TensorView rows_of(const TensorView& view, std::int64_t first, std::int64_t count) {
  TensorView rows = view;
  rows.shape[0] = count;
  rows.data = static_cast<std::byte*>(view.data) +
              first * view.strides[0] * static_cast<std::int64_t>(bytes_of(view.dtype));
  return rows;
}

}  // namespace

std::vector<AttentionPiece> pieces_of_shard(const ShardMap& map, Mask mask, int reader, int source) {
  const std::int64_t rows = map.rows_of(reader);
  if (mask == Mask::full)
    return {{.range = {.q_first = 0, .q_count = rows}, .k_first = 0, .k_count = map.rows_of(source)}};
  if (reader == source) {  // rows are in global order: plain causal on the shard
    return {{.range = {.q_first = 0, .q_count = rows, .visible = band_of(Mask::causal)},
             .k_first = 0,
             .k_count = rows}};
  }
  std::vector<AttentionPiece> pieces;
  for (const Chunk& chunk : map.chunks_of(reader)) {
    // Chunks of other ranks lie wholly before or behind this one.
    const std::int64_t keys = keys_before(map, source, chunk.first);
    if (chunk.count == 0 || keys == 0) continue;
    if (!pieces.empty() && pieces.back().k_count == keys &&
        pieces.back().range.q_first + pieces.back().range.q_count == chunk.local_first) {
      pieces.back().range.q_count += chunk.count;
    } else {
      pieces.push_back(
          {.range = {.q_first = chunk.local_first, .q_count = chunk.count}, .k_first = 0, .k_count = keys});
    }
  }
  return pieces;
}

std::vector<AttentionPiece> pieces_of_all_keys(const ShardMap& map, Mask mask, int reader) {
  if (mask == Mask::full)
    return {{.range = {.q_first = 0, .q_count = map.rows_of(reader)}, .k_first = 0, .k_count = map.tokens()}};
  std::vector<AttentionPiece> pieces;
  for (const Chunk& chunk : map.chunks_of(reader)) {
    if (chunk.count == 0) continue;
    pieces.push_back(
        {.range = {.q_first = chunk.local_first, .q_count = chunk.count, .visible = {.lower = -chunk.first}},
         .k_first = 0,
         .k_count = chunk.first + chunk.count});
  }
  return pieces;
}

Status add_pieces(LocalAttention& attention, const std::vector<AttentionPiece>& pieces, const TensorView& k,
                  const TensorView& v) {
  for (const AttentionPiece& piece : pieces) {
    PERF_TRY(attention.add(piece.range, rows_of(k, piece.k_first, piece.k_count),
                           rows_of(v, piece.k_first, piece.k_count)));
  }
  return {};
}

}  // namespace ringcomm::perf
