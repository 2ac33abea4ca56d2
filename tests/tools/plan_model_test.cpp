// SPDX-License-Identifier: Apache-2.0
// Sizes against published parameter counts, and against sums done by hand.
#include <gtest/gtest.h>

#include "plan_numbers.hpp"
#include "tiles.hpp"

namespace ringcomm::planner {
namespace {

TEST(PlanModelTest, ParametersAreThoseOfThePublishedModel) {
  EXPECT_EQ(parameters(llama3_8b(), {}).per_rank, 8030261248.0);
  // Halves, but for the norms (2 a layer and the last one), which every rank has.
  const double norms = (32 * 2 + 1) * 4096.0;
  EXPECT_EQ(parameters(llama3_8b(), {.tp = 2}).per_rank, (8030261248.0 - norms) / 2 + norms);
}

TEST(PlanModelTest, KvOfThirtyTwoThousandTokensIsTwentyOneAndAHalfGigabytes) {
  EXPECT_EQ(kv_bytes_of_sequence(forty_layers(), 32768), 21474836480.0);
  const Work work{.tokens = 32768};
  const auto kv_of = [&](int cp) {
    const Memory memory = memory_per_rank(forty_layers(), work, {.cp = cp}, Strategy::ring, {.per_host = cp});
    for (const MemoryItem& item : memory.items) {
      if (item.id == "kv") return item.bytes.value_or(-1);
    }
    return -1.0;
  };
  EXPECT_EQ(kv_of(1), 21474836480.0);
  EXPECT_EQ(kv_of(4), 5368709120.0);
}

TEST(PlanModelTest, WhatIsNotGivenIsUnknownAndNotZero) {
  const Memory memory = memory_per_rank(forty_layers(), {.tokens = 100}, {}, Strategy::ring, {});
  EXPECT_FALSE(memory.is_complete);
  EXPECT_FALSE(memory.items.front().bytes.has_value());
  EXPECT_FALSE(parameters(forty_layers(), {}).per_rank.has_value());
}

TEST(PlanModelTest, MissingSizesAreFilledAndSaid) {
  ModelShape shape{.layers = 2, .heads = 8, .hidden = 512};
  std::vector<std::string> assumed;
  ASSERT_TRUE(complete(shape, assumed).is_ok());
  EXPECT_EQ(shape.head_dim, 64);
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(assumed, (std::vector<std::string>{"head dim 64 = hidden / heads",
                                               "KV heads 8 = heads (no grouped queries)"}));
}

std::string refusal(ModelShape shape) {
  std::vector<std::string> assumed;
  return std::string(complete(shape, assumed).message());
}
TEST(PlanModelTest, ImpossibleModelsNameTheTwoNumbers) {
  EXPECT_EQ(refusal({.layers = 2, .heads = 32, .hidden = 4100}),
            "heads 32 must divide hidden 4100 (or give --head-dim)");
  EXPECT_EQ(refusal({.layers = 2, .heads = 32, .kv_heads = 5, .head_dim = 128}),
            "KV heads 5 must divide heads 32 (each KV head serves as many query heads)");
  EXPECT_EQ(refusal({.heads = 32, .head_dim = 128}), "the number of layers is not given: --layers");
  EXPECT_EQ(refusal({.layers = 2, .heads = -1, .head_dim = 128}),
            "the number of attention heads (--heads) is -1; 1 to 16777216 are possible");
}

std::string refusal(const Split& split, const Work& work = {.tokens = 4096, .batch = 6}) {
  return std::string(check_split(llama3_8b(), work, split).message());
}
TEST(PlanModelTest, ImpossibleSplitsNameTheTwoNumbers) {
  EXPECT_EQ(refusal({.tp = 3}), "tp 3 must divide heads 32 (each TP rank has as many query heads)");
  EXPECT_EQ(refusal({.pp = 3}), "pp 3 must divide layers 32 (each pipeline stage has as many layers)");
  EXPECT_EQ(refusal({.dp = 4}), "dp 4 must divide batch 6 (each data-parallel group has as many sequences)");
  EXPECT_EQ(refusal({.dp = 2}, {.tokens = 1, .batch = 6, .micro_batch = 2}),
            "micro-batch 2 must divide batch / dp 3 (whole micro-batches only)");
  ModelShape shape = llama3_8b();
  shape.heads = shape.kv_heads = 12;
  shape.kv_heads = 6;
  EXPECT_EQ(check_split(shape, {.tokens = 1}, {.tp = 4}).message(),
            "tp 4 must divide KV heads 6, or be a multiple of them (then each KV head is on several ranks)");
  EXPECT_TRUE(refusal({.tp = 16}).empty()) << "8 KV heads on 16 ranks: each on two";
  EXPECT_TRUE(refusal({.cp = 7}).empty()) << "no length needs to divide";
}

TEST(PlanTilesTest, UnevenShardsAreThoseOfTheAttentionNotes) {
  ModelShape shape = llama3_8b();
  const TileFit fit = fit_tiles(shape, {.tokens = 2999}, 8, 128);
  EXPECT_EQ(fit.rows_min, 374);
  EXPECT_EQ(fit.rows_max, 376);
  EXPECT_FALSE(fit.divides);
  EXPECT_EQ(fit.even_tokens_below, 2048);
  EXPECT_EQ(fit.even_tokens_above, 4096);
  // 16 chunks of 187 or 188 tokens, each on two tiles of 128.
  EXPECT_NEAR(fit.empty_share, 1 - 2999.0 / (16 * 256), 1e-12);
}

TEST(PlanTilesTest, ATileThatDividesTheChunkDividesTheShard) {
  const TileFit fit = fit_tiles(llama3_8b(), {.tokens = 32768}, 4, 128);
  EXPECT_TRUE(fit.divides);
  EXPECT_EQ(fit.chunk_min, 4096);
  EXPECT_EQ(fit.empty_share, 0);
  // A shard of 8192 + 128 is divided too, its two chunks are not.
  EXPECT_FALSE(fit_tiles(llama3_8b(), {.tokens = 4 * 8320}, 4, 128).divides);
}

}  // namespace
}  // namespace ringcomm::planner
