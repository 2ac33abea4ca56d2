// SPDX-License-Identifier: Apache-2.0
// The oracle for the closed forms: a simulation rank by rank and step by step with the exact visible pairs,
// and the figures of the notes, computed there by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "crossover.hpp"
#include "plan_numbers.hpp"
#include "schedule.hpp"

namespace ringcomm::planner {
namespace {

AttentionTime closed_form(Strategy strategy, const ModelShape& shape, const Work& work, const Split& split,
                          const Fabric& fabric) {
  const CpPlace place = place_cp(fabric, split);
  const Rates rates = rates_of(fabric);
  return attention_time(strategy,
                        attention_load(shape, work, split, work.tokens, place, rates, Direction::forward),
                        place, rates);
}

class PlanTimeTest : public testing::TestWithParam<Strategy> {};

TEST_P(PlanTimeTest, ClosedFormIsWhatTheSimulationTakes) {
  int compared = 0;
  for (const auto& [mask, layout] : {std::pair{Mask::causal, Layout::zigzag},
                                     {Mask::causal, Layout::contiguous},
                                     {Mask::full, Layout::contiguous},
                                     {Mask::full, Layout::zigzag}}) {
    for (const int cp : {1, 2, 3, 8, 16, 32}) {
      for (const int tp : {1, 2}) {
        for (const std::int64_t tokens : {2048, 65536, 524288}) {
          for (const double tflops : {6.0, 600.0, 60000.0}) {
            ModelShape shape = llama3_8b();
            shape.mask = mask;
            Fabric fabric = eight_gpus(8);
            fabric.tflops = tflops;
            const Split split{.tp = tp, .cp = cp};
            const Work work{.tokens = tokens / (2 * cp) * (2 * cp), .layout = layout};
            if (cp == 1 && GetParam() != Strategy::ring) continue;
            if (!refusal_of(GetParam(), shape, split, place_cp(fabric, split)).empty()) continue;
            const double closed = closed_form(GetParam(), shape, work, split, fabric).total_us;
            const double simulated = simulate(GetParam(), shape, work, split, fabric).end_us;
            // The diagonal's half cell is not in the closed form: one part in the tokens of a chunk.
            const double tolerance = 2.0 * 2 * cp / static_cast<double>(tokens) + 1e-9;
            EXPECT_NEAR(closed / simulated, 1, tolerance)
                << name_of(mask) << " " << name_of(layout) << " cp " << cp << " tp " << tp << " tokens "
                << tokens << " " << tflops << " Tflop/s";
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GE(compared, GetParam() == Strategy::double_ring ? 100 : 300);
}
std::string case_name(const testing::TestParamInfo<Strategy>& tested) {
  std::string name(name_of(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Strategies, PlanTimeTest, testing::ValuesIn(kStrategies), case_name);

/// Tokens per rank from which the transfer hides, with F = 600 Tflop/s and no latency.
std::int64_t hides_from(Mask mask, int kv_heads, double gb_per_s) {
  ModelShape shape = llama3_8b();
  shape.heads = 32;
  shape.kv_heads = kv_heads;
  shape.mask = mask;
  Fabric fabric = eight_gpus();
  fabric.local = {
      .name = "NV18", .bandwidth = {.gb_per_s = gb_per_s, .source = Source::table}, .alpha_us = 0.0};
  const Split split{.cp = 8};
  return tokens_to_hide(shape, {.tokens = 1}, split, place_cp(fabric, split), rates_of(fabric));
}
TEST(PlanHidingTest, ThresholdsAreThoseOfTheNotes) {
  // Attention notes 6.12: bf16, causal zigzag, GQA 8:1 and MHA.
  EXPECT_EQ(hides_from(Mask::causal, 4, 50), 3000);
  EXPECT_EQ(hides_from(Mask::causal, 4, 370), 406);  // 405.4: the next whole token
  EXPECT_EQ(hides_from(Mask::causal, 32, 50), 24000);
  EXPECT_EQ(hides_from(Mask::causal, 32, 370), 3244);
  // Topology notes 2.5: not causal, half of it.
  EXPECT_EQ(hides_from(Mask::full, 4, 50), 1500);
  EXPECT_EQ(hides_from(Mask::full, 32, 50), 12000);
  EXPECT_EQ(hides_from(Mask::full, 4, 400), 188);
}

TEST(PlanHidingTest, BackwardNeedsTheFactorOfTheNotes) {
  // 6.12: x (e + e_g) / (2.5 e) = 1.2 with bf16 and fp32 gradients.
  const Fabric fabric = eight_gpus();
  const Split split{.cp = 8};
  const CpPlace place = place_cp(fabric, split);
  const auto ratio = [&](Direction direction) {
    const AttentionLoad load =
        attention_load(llama3_8b(), {.tokens = 65536}, split, 65536, place, rates_of(fabric), direction);
    return (load.kv_bytes + load.gradient_bytes) / load.step_flop;
  };
  EXPECT_NEAR(ratio(Direction::backward) / ratio(Direction::forward), 1.2, 1e-12);
}

TEST(PlanStepTest, AStepByHand) {
  // 8 ranks, 32K tokens: 4096 a rank. 2 x 32 x 128 x 4096^2 flop at 600e6 flop/us; 2 x 4096 x 8 x 128 x 2
  // bytes.
  const AttentionTime time =
      closed_form(Strategy::ring, llama3_8b(), {.tokens = 32768}, {.cp = 8}, eight_gpus());
  EXPECT_NEAR(time.step_compute_us, 229.0649, 1e-3);
  EXPECT_NEAR(time.step_transfer_us, 5 + 16777216 / 370e3, 1e-9);
  EXPECT_NEAR(time.total_us, 8 * 229.0649, 1e-2);
  EXPECT_TRUE(time.is_hidden);
  EXPECT_EQ(time.exposed_us, 0);
}

TEST(PlanStepTest, ABlockWaitsForItsSlot) {
  // Two slots: steps 1 and 2 arrive at once, step 3 when step 1 has been computed.
  const Schedule schedule = simulate(Strategy::ring, llama3_8b(), {.tokens = 32768}, {.cp = 8}, eight_gpus());
  std::vector<double> begins(8, -1), computed(8, -1);
  for (const Bar& bar : schedule.bars) {
    if (bar.rank != 5) continue;
    if (bar.is_compute)
      computed[static_cast<std::size_t>(bar.step)] = bar.to_us;
    else
      begins[static_cast<std::size_t>(bar.step)] = bar.from_us;
  }
  EXPECT_EQ(begins[1], 0);
  EXPECT_NEAR(begins[2], 5 + 16777216 / 370e3, 1e-6);
  for (std::size_t step = 3; step < 8; ++step) EXPECT_EQ(begins[step], computed[step - 2]);
}

TEST(PlanStepTest, RailsAndDoubleRingUseAllNicsAlike) {
  // Topology notes 2.5: S / (M b) in each step, or S (G/M) / b in G steps: the same bandwidth.
  const ModelShape shape = llama3_8b();
  const Work work{.tokens = 1 << 20};
  const Split split{.cp = 64};
  const Fabric fabric = eight_gpus(8);
  const AttentionTime rails = closed_form(Strategy::ring, shape, work, split, fabric);
  const AttentionTime doubled = closed_form(Strategy::double_ring, shape, work, split, fabric);
  const double block = 2.0 * (1 << 14) * 8 * 128 * 2;
  EXPECT_NEAR(doubled.outer_transfer_us, 10 + block / 50e3, 1e-6);
  const CpPlace place = place_cp(fabric, split);
  EXPECT_EQ(
      attention_load(shape, work, split, work.tokens, place, rates_of(fabric), Direction::forward).rails, 8);
  EXPECT_NEAR(rails.step_transfer_us, 5 + block / 370e3, 1e-6) << "inside the host is slower than 8 NICs";
  // One KV head cannot be split: one NIC carries every step's block.
  ModelShape narrow = shape;
  narrow.kv_heads = 1;
  EXPECT_NEAR(closed_form(Strategy::ring, narrow, work, split, fabric).step_transfer_us,
              10 + block / 8 / 50e3, 1e-6);
}

TEST(PlanCrossoverTest, TheCrossingIsWhereTheTimesCross) {
  const auto line = [](double alpha, double beta) {
    return [=](std::int64_t tokens) { return alpha + beta * static_cast<double>(tokens); };
  };
  EXPECT_EQ(wins_from(line(100, 1), line(0, 2)), 101);
  EXPECT_EQ(wins_from(line(0, 1), line(1, 1)), 1);
  EXPECT_EQ(wins_from(line(1, 1), line(0, 1)), std::nullopt);
}

TEST(PlanCrossoverTest, ShortSequencesLoseAgainstOneRank) {
  const Request request{.shape = llama3_8b(), .work = {.tokens = 32768}, .fabric = eight_gpus(), .ranks = 8};
  const Crossovers found = find_crossovers(request, {.cp = 8});
  ASSERT_TRUE(found.is_known);
  ASSERT_TRUE(found.parallel_from && found.ring_over_gather && found.ring_over_exchange);
  EXPECT_GT(*found.parallel_from, 1);
  EXPECT_LT(*found.parallel_from, *found.ring_over_gather) << "all-gather has one latency, the ring seven";
  // Judged at the edge, computed anew.
  const auto total = [&](int cp, Strategy strategy, std::int64_t tokens) {
    return step_time(request.shape, {.tokens = tokens}, {.cp = cp}, strategy, request.fabric)
        .layer.attention_us;
  };
  const std::int64_t edge = *found.ring_over_gather;
  EXPECT_LT(total(8, Strategy::ring, edge), total(8, Strategy::all_gather, edge));
  EXPECT_GE(total(8, Strategy::ring, edge - 1), total(8, Strategy::all_gather, edge - 1));
}

}  // namespace
}  // namespace ringcomm::planner
