// SPDX-License-Identifier: Apache-2.0
// Pieces against the mask itself: every visible pair exactly once, no hidden one.
#include "../../perf/attention_pieces.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ringcomm::perf {
namespace {

/// [rows * keys] how often each pair is computed.
std::vector<int> count_pairs(const std::vector<AttentionPiece>& pieces, std::int64_t rows,
                             std::int64_t keys) {
  std::vector<int> counts(static_cast<std::size_t>(rows * keys), 0);
  for (const AttentionPiece& piece : pieces) {
    for (std::int64_t i = 0; i < piece.range.q_count; ++i) {
      for (std::int64_t j = 0; j < piece.k_count; ++j) {
        const VisibleBand& band = piece.range.visible;
        if (i - j >= band.lower && i - j <= band.upper)
          ++counts.at(static_cast<std::size_t>((piece.range.q_first + i) * keys + piece.k_first + j));
      }
    }
  }
  return counts;
}

void expect_mask(const std::vector<AttentionPiece>& pieces, Mask mask, const std::vector<std::int64_t>& rows,
                 const std::vector<std::int64_t>& keys, const std::string& what) {
  const auto counts =
      count_pairs(pieces, static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(keys.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const int expected = mask == Mask::full || rows[i] >= keys[j] ? 1 : 0;
      ASSERT_EQ(counts[i * keys.size() + j], expected) << what << " query " << rows[i] << " key " << keys[j];
    }
  }
}

TEST(AttentionPiecesTest, CoverWhatIsVisibleOnce) {
  for (const Layout layout : {Layout::zigzag, Layout::contiguous}) {
    for (const Mask mask : {Mask::full, Mask::causal}) {
      for (const int ranks : {1, 2, 3, 5}) {
        for (const std::int64_t tokens : {0, 1, 7, 40}) {
          const auto created = ShardMap::create(layout, tokens, ranks);
          ASSERT_TRUE(created.is_ok());
          const ShardMap& map = created.value();
          std::vector<std::int64_t> all;
          for (std::int64_t token = 0; token < tokens; ++token) all.push_back(token);
          for (int reader = 0; reader < ranks; ++reader) {
            const std::string what = "tokens " + std::to_string(tokens) + " ranks " + std::to_string(ranks) +
                                     " reader " + std::to_string(reader);
            const auto rows = map.positions(reader);
            expect_mask(pieces_of_all_keys(map, mask, reader), mask, rows, all, what);
            for (int source = 0; source < ranks; ++source) {
              expect_mask(pieces_of_shard(map, mask, reader, source), mask, rows, map.positions(source),
                          what + " source " + std::to_string(source));
            }
          }
        }
      }
    }
  }
}

TEST(AttentionPiecesTest, AreFewOnTheZigzag) {
  const auto created = ShardMap::create(Layout::zigzag, 64, 2);
  ASSERT_TRUE(created.is_ok());
  const ShardMap& map = created.value();
  for (const int reader : {0, 1}) {
    for (const int source : {0, 1})
      EXPECT_EQ(pieces_of_shard(map, Mask::causal, reader, source).size(), 1U) << reader << source;
  }
}

}  // namespace
}  // namespace ringcomm::perf
