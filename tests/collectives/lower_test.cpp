// SPDX-License-Identifier: Apache-2.0
// Lowered programs against the slices they come from: every operation once and in order, one batch between
// computes, edges kept; and slices that refer to what they do not have.
#include "collectives/lower.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm {
namespace {

using collectives::Item;
using collectives::Program;

std::array<std::byte, 4096> memory;

Program lowered(const plan::RankPlan& slice) {
  const std::vector<std::byte*> slots(slice.slots.size(), memory.data());
  auto program = collectives::lower(slice, slots, {});
  EXPECT_TRUE(program.is_ok()) << program.status().to_string();
  return std::move(program).value();
}

plan::RankPlan rotation(plan::RotationMode mode, plan::Overlap overlap, plan::Access access) {
  plan::RotationRule rule{.ranks = 4, .access = access, .mode = mode, .overlap = overlap};
  rule.block_bytes = {64, 0, 128, 32};
  auto slice = plan::rotation_slice(rule, 1);
  EXPECT_TRUE(slice.is_ok());
  return std::move(slice).value();
}

TEST(LowerTest, TransfersBetweenTwoComputesAreOneBatch) {
  const Program program =
      lowered(rotation(plan::RotationMode::direct, plan::Overlap::on, plan::Access::direct_read));
  EXPECT_FALSE(program.has_comm_queue);
  EXPECT_EQ(program.computes.size(), 4U);
  // offers | own | take | 1 | release, take | 2 | release, take | 3 | release, reclaims
  EXPECT_EQ(program.batches.size(), 5U);
  EXPECT_EQ(program.items.size(), 9U);
  for (std::size_t i = 0; i < program.items.size(); ++i)
    EXPECT_EQ(program.items[i].kind, i % 2 == 0 ? Item::Kind::batch : Item::Kind::compute);
}

TEST(LowerTest, EveryTransferComesOnceInOrderWithItsDescriptor) {
  for (const plan::Access access : {plan::Access::direct_read, plan::Access::two_sided}) {
    const plan::RankPlan slice = rotation(plan::RotationMode::relay, plan::Overlap::on, access);
    Program program = lowered(slice);
    program.set_sequence(77);
    std::size_t at = 0;
    for (const plan::Op& op : slice.ops) {
      if (op.kind == plan::OpKind::compute) continue;
      ASSERT_LT(at, program.ops.size());
      const TransportOp& transfer = program.ops[at++];
      EXPECT_EQ(transfer.peer, op.peer);
      EXPECT_EQ(transfer.bytes, op.bytes);
      EXPECT_EQ(transfer.descriptor.bytes, op.bytes);
      EXPECT_EQ(transfer.descriptor.step, op.step);
      EXPECT_EQ(transfer.descriptor.block, op.block);
      EXPECT_EQ(transfer.descriptor.sequence, 77U);
    }
    EXPECT_EQ(at, program.ops.size());
  }
}

TEST(LowerTest, TwoGroupsOfMessagesNeverShareABatch) {
  plan::RotationRule rule{.ranks = 3, .access = plan::Access::two_sided, .mode = plan::RotationMode::relay};
  rule.block_bytes = {64, 64, 64};
  rule.chunk_bytes = 16;
  const plan::RankPlan slice = std::move(plan::rotation_slice(rule, 0)).value();
  const Program program = lowered(slice);
  EXPECT_TRUE(program.has_comm_queue);
  std::vector<std::int32_t> groups;
  for (const plan::Op& op : slice.ops) {
    if (op.kind != plan::OpKind::compute) groups.push_back(op.group);
  }
  for (const collectives::Batch& batch : program.batches) {
    for (std::uint32_t i = 1; i < batch.count; ++i) EXPECT_EQ(groups[batch.first + i], groups[batch.first]);
  }
}

TEST(LowerTest, EdgesBetweenTheQueuesAreKept) {
  const plan::RankPlan slice =
      rotation(plan::RotationMode::relay, plan::Overlap::on, plan::Access::direct_read);
  const Program program = lowered(slice);
  ASSERT_TRUE(program.has_comm_queue);
  std::size_t compute = 0;
  std::size_t edges = 0;
  for (const plan::Op& op : slice.ops) {
    if (op.kind != plan::OpKind::compute) {
      edges += op.after != plan::kNone ? 1 : 0;
      continue;
    }
    const std::int32_t wait = program.computes[compute++].wait_for;
    EXPECT_EQ(wait == collectives::kNoIndex, op.after == plan::kNone);
    if (wait == collectives::kNoIndex) continue;
    EXPECT_TRUE(program.batches[static_cast<std::size_t>(wait)].is_waited_for);
  }
  std::size_t batches_after = 0;
  for (const collectives::Batch& batch : program.batches)
    batches_after += batch.after != collectives::kNoIndex ? 1 : 0;
  EXPECT_EQ(batches_after, edges);
}

TEST(LowerTest, ComputesKnowWhatArrivedForThemAndSlotsAreTheirs) {
  struct Case {
    plan::RotationMode mode;
    plan::Access access;
    TransportOpKind brings;
    std::size_t released_later;
  };
  for (const Case& c : {Case{plan::RotationMode::direct, plan::Access::direct_read, TransportOpKind::take, 0},
                        Case{plan::RotationMode::relay, plan::Access::direct_read, TransportOpKind::pull, 3},
                        Case{plan::RotationMode::relay, plan::Access::two_sided, TransportOpKind::recv, 0}}) {
    const Program program = lowered(rotation(c.mode, plan::Overlap::on, c.access));
    std::size_t arrivals = 0;
    for (const collectives::Compute& compute : program.computes) {
      EXPECT_EQ(compute.arrivals, compute.op.block == 1 ? 0U : 1U);  // the own block does not arrive
      for (std::uint32_t i = 0; i < compute.arrivals; ++i) {
        const TransportOp& arrival = program.ops[program.arrivals[compute.first_arrival + i]];
        EXPECT_EQ(arrival.kind, c.brings);
        EXPECT_EQ(arrival.descriptor.block, compute.op.block);
        EXPECT_EQ(arrival.is_read_later, c.brings != TransportOpKind::take);
        ++arrivals;
      }
    }
    EXPECT_EQ(arrivals, 3U);
    const bool is_direct = c.mode == plan::RotationMode::direct;
    for (const collectives::Compute& compute : program.computes)
      EXPECT_EQ(compute.is_told_by_releases, is_direct && compute.op.block != 1);
    for (const TransportOp& op : program.ops)
      EXPECT_EQ(op.ends_reading, is_direct && op.kind == TransportOpKind::release);
    std::size_t released_later = 0;
    for (const TransportOp& op : program.ops)
      released_later += op.kind == TransportOpKind::release && op.is_read_later ? 1U : 0U;
    EXPECT_EQ(released_later, c.released_later);
  }
}

TEST(LowerTest, SlicesThatReferToWhatTheyLackAreRefused) {
  const plan::RankPlan good =
      rotation(plan::RotationMode::relay, plan::Overlap::on, plan::Access::direct_read);
  const std::vector<std::byte*> slots(good.slots.size(), memory.data());
  const auto expect_refused = [&](auto&& damage, std::string_view part) {
    plan::RankPlan bad = good;
    for (plan::Op& op : bad.ops) {
      if (op.kind == plan::OpKind::pull && op.bytes > 0) {
        damage(op);
        break;
      }
    }
    const Status status = collectives::lower(bad, slots, {}).status();
    EXPECT_EQ(status.code(), StatusCode::internal) << part;
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
  };
  expect_refused([](plan::Op& op) { op.peer = 4; }, "peer 4 of 4");
  expect_refused([](plan::Op& op) { op.slot = 9; }, "slot 9");
  expect_refused([](plan::Op& op) { op.slot = plan::kNone; }, "no slot");
  expect_refused([](plan::Op& op) { op.offset = 100; }, "bytes at 100 in a slot of");
  expect_refused([](plan::Op& op) { op.bytes = ~std::uint64_t{0}; }, "in a slot of");
  expect_refused([](plan::Op& op) { op.after = 10000; }, "waits for operation 10000");
  expect_refused([](plan::Op& op) { op.stream = plan::StreamRole::compute; }, "share a queue");
  EXPECT_FALSE(collectives::lower(good, std::span(slots).first(1), {}).is_ok());
  const std::vector<std::byte*> no_memory(good.slots.size(), nullptr);
  EXPECT_FALSE(collectives::lower(good, no_memory, {}).is_ok());
}

}  // namespace
}  // namespace ringcomm
