// SPDX-License-Identifier: Apache-2.0
// What surrounds attention: sums done here anew from the definitions, for one model on paper.
#include <gtest/gtest.h>

#include "plan_numbers.hpp"

namespace ringcomm::planner {
namespace {

constexpr double kParameters = 8030261248.0;
constexpr double kLayer = 218103808.0;  ///< of it, matrices of one layer

StepTime time_of(const Work& work, const Split& split, const Fabric& fabric) {
  return step_time(llama3_8b(), work, split, Strategy::ring, fabric);
}
double bytes_of(const Memory& memory, std::string_view id) {
  for (const MemoryItem& item : memory.items) {
    if (item.id == id) return item.bytes.value_or(-1);
  }
  return -2;
}

TEST(PlanLayerTest, MatrixProductsAreTwoOperationsAParameterAndToken) {
  const StepTime forward = time_of({.tokens = 8192}, {}, eight_gpus());
  EXPECT_NEAR(*forward.layer.dense_us, 2 * kLayer * 8192 / 600e6, 1e-6);
  const StepTime train = time_of({.tokens = 8192, .phase = Phase::train}, {}, eight_gpus());
  EXPECT_NEAR(*train.layer.dense_us, 6 * kLayer * 8192 / 600e6, 1e-6);
  EXPECT_NEAR(*train.head_us, 6 * 4096.0 * 128256 * 8192 / 600e6, 1e-6);
  const StepTime again =
      time_of({.tokens = 8192, .phase = Phase::train, .recompute = Recompute::full}, {}, eight_gpus());
  EXPECT_NEAR(*again.layer.dense_us, 8 * kLayer * 8192 / 600e6, 1e-6);
  EXPECT_NEAR(again.layer.attention_us / forward.layer.attention_us, 2 + 2.5, 1e-9);
  EXPECT_EQ(train.gradients_us, 0.0) << "one rank has nobody to reduce with";
}

TEST(PlanLayerTest, TensorParallelAllReducesByHand) {
  // Two all-reduces of 8192 x 4096 bf16 over 4 ranks: 6 hops of a quarter each.
  const StepTime forward = time_of({.tokens = 8192}, {.tp = 4}, eight_gpus());
  EXPECT_NEAR(forward.layer.tp_us, 2 * 6 * (5 + 8192 * 4096 * 2 / 4 / 370e3), 1e-6);
  const StepTime train = time_of({.tokens = 8192, .phase = Phase::train}, {.tp = 4}, eight_gpus());
  EXPECT_NEAR(train.layer.tp_us, 2 * forward.layer.tp_us, 1e-6);
}

TEST(PlanLayerTest, GradientsByHand) {
  const Work work{.tokens = 8192, .batch = 2, .phase = Phase::train};
  const StepTime near = time_of(work, {.cp = 4, .dp = 2}, eight_gpus());
  EXPECT_NEAR(*near.gradients_us, 14 * (5 + kParameters * 4 / 8 / 370e3), 1e-3);
  // 16 ranks on two hosts of 8 NICs: one ring crosses, over all of them at once.
  const StepTime far = time_of(work, {.cp = 8, .dp = 2}, eight_gpus(2));
  EXPECT_NEAR(*far.gradients_us, 30 * (10 + kParameters * 4 / 16 / 370e3), 1e-3)
      << "8 x 50 GB/s are more than 370";
}

TEST(PlanLayerTest, APipelineWaitsForItsFirstMicroBatch) {
  const StepTime step = time_of({.tokens = 8192, .batch = 8}, {.pp = 4}, eight_gpus());
  EXPECT_NEAR(step.bubble, 11.0 / 8, 1e-12);
  EXPECT_NEAR(*step.total_us, 8 * (*step.layer.dense_us + step.layer.attention_us) * 11.0 / 8 * 8, 1e-3)
      << "8 layers a stage, 8 micro-batches and 3 to fill";
}

TEST(PlanLayerTest, TrainingBytesAParameterAreMegatrons) {
  const auto state = [](const Work& work, const Split& split) {
    const Memory memory = memory_per_rank(llama3_8b(), work, split, Strategy::ring, {.per_host = split.cp});
    return (bytes_of(memory, "weights") + bytes_of(memory, "gradients") + bytes_of(memory, "optimizer")) /
           kParameters;
  };
  EXPECT_DOUBLE_EQ(state({.tokens = 64, .phase = Phase::train}, {}), 18);
  EXPECT_DOUBLE_EQ(state({.tokens = 64, .phase = Phase::train, .shards_optimizer = true}, {.cp = 4, .dp = 2}),
                   6 + 12.0 / 8);
  EXPECT_EQ(bytes_of(memory_per_rank(llama3_8b(), {.tokens = 64}, {}, Strategy::ring, {}), "optimizer"), -2)
      << "forward has none";
}

TEST(PlanLayerTest, SlotsAreThoseOfTheStrategy) {
  const Work work{.tokens = 8192};
  const double sequence = 2.0 * 8192 * 8 * 128 * 2;  // K and V of one layer
  const auto slots = [&](Strategy strategy, const CpPlace& place) {
    return slot_bytes(llama3_8b(), work, {.cp = 8}, strategy, place);
  };
  EXPECT_EQ(slots(Strategy::ring, {.per_host = 8}), 0) << "peers' memory is read in place";
  EXPECT_EQ(slots(Strategy::ring, {.per_host = 4, .hosts = 2}), 2 * sequence / 8);
  EXPECT_EQ(slots(Strategy::double_ring, {.per_host = 4, .hosts = 2}), 3 * sequence / 8);
  EXPECT_EQ(slots(Strategy::all_gather, {.per_host = 8}), sequence);
  EXPECT_EQ(slots(Strategy::all_to_all, {.per_host = 8}), 8192.0 * (2 * 4 + 2 * 1) * 128 * 2);
}

TEST(PlanLayerTest, AllToAllMovesTheBytesOfTheNotes) {
  // Attention notes 6.11: (U-1)/U S (2 Hq + 2 Hkv) D e, S tokens a rank.
  const Fabric fabric = eight_gpus();
  const Split split{.cp = 8};
  const CpPlace place = place_cp(fabric, split);
  const AttentionTime time = attention_time(Strategy::all_to_all,
                                            attention_load(llama3_8b(), {.tokens = 65536}, split, 65536,
                                                           place, rates_of(fabric), Direction::forward),
                                            place, rates_of(fabric));
  EXPECT_NEAR(time.transfer_us, 2 * 5 + 7.0 / 8 * 8192 * (2 * 32 + 2 * 8) * 128 * 2 / 370e3, 1e-6);
  EXPECT_NEAR(time.compute_us, 2.0 * 32 / 8 * 128 * 65536 * 65536 / 600e6, 1e-3);
}

TEST(PlanLayerTest, BackwardComputesTwoAndAHalfTimesAndMovesGradients) {
  const StepTime step = time_of({.tokens = 65536, .phase = Phase::train}, {.cp = 8}, eight_gpus());
  ASSERT_TRUE(step.layer.backward.has_value());
  const AttentionTime& forward = step.layer.forward;
  EXPECT_NEAR(step.layer.backward->step_compute_us, 2.5 * forward.step_compute_us, 1e-9);
  EXPECT_NEAR(step.layer.backward->step_transfer_us - 5, 3 * (forward.step_transfer_us - 5), 1e-9)
      << "bf16 and fp32";
}

}  // namespace
}  // namespace ringcomm::planner
