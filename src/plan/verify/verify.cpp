// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/plan/verify.hpp"

#include <algorithm>
#include <new>

#include "core/try.hpp"
#include "plan/lanes.hpp"
#include "plan/verify/coverage.hpp"
#include "plan/verify/slot_content.hpp"
#include "plan/verify/slot_order.hpp"
#include "plan/verify/slot_reads.hpp"
#include "plan/verify/structure.hpp"
#include "plan/wait_graph.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

Status deadlock(std::span<const RankPlan> slices, const std::vector<OpRef>& cycle) {
  std::string text = concat("deadlock: ", cycle.size(), " operations wait in a circle: ");
  for (const OpRef ref : cycle) text += describe(slices, ref) + " waits for ";
  return Status::invalid_argument(text + describe(slices, cycle.front()));
}

Status check_slots(std::span<const RankPlan> slices, const Lanes& lanes, const WaitGraph& graph,
                   const Coverage& coverage) {
  RINGCOMM_TRY_ASSIGN(const std::vector<Read> reads, collect_reads(slices, lanes, graph, coverage));
  RINGCOMM_TRY_ASSIGN(const SlotHistory history, order_accesses(slices, graph, reads));
  return check_contents(slices, lanes, graph, reads, history);
}

PlanFacts facts_of(std::span<const RankPlan> slices) {
  PlanFacts facts;
  std::uint64_t most = 0;
  for (const RankPlan& slice : slices) {
    std::uint64_t tiles = 0;
    for (const Op& op : slice.ops) {
      if (op.kind == OpKind::pull || op.kind == OpKind::recv) facts.bytes_moved += op.bytes;
      if (op.kind == OpKind::compute) tiles += op.tile_count;
    }
    facts.arena_bytes_max = std::max(facts.arena_bytes_max, slice.arena_bytes());
    facts.operations += slice.ops.size();
    facts.tiles += tiles;
    most = std::max(most, tiles);
  }
  if (facts.tiles != 0) {
    facts.tiles_max_over_mean =
        static_cast<double>(most) * static_cast<double>(slices.size()) / static_cast<double>(facts.tiles);
  }
  return facts;
}

Result<PlanFacts> run_checks(std::span<const RankPlan> slices, const Coverage& coverage) {
  RINGCOMM_TRY(check_structure(slices));
  const Lanes lanes(slices);
  RINGCOMM_TRY(lanes.check());
  WaitGraph graph(slices, lanes);
  if (const std::vector<OpRef> cycle = graph.find_cycle(); !cycle.empty()) return deadlock(slices, cycle);
  graph.compute_clocks();
  RINGCOMM_TRY(check_slots(slices, lanes, graph, coverage));
  RINGCOMM_TRY(check_coverage(slices, coverage));
  return facts_of(slices);
}

}  // namespace

Result<PlanFacts> verify(std::span<const RankPlan> slices, const Coverage& coverage) {
  try {
    return run_checks(slices, coverage);
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat("verifying a plan of ", slices.size(), " ranks"));
  }
}

Status verify_order(std::span<const RankPlan> slices) {
  try {
    RINGCOMM_TRY(check_structure(slices));
    const Lanes lanes(slices);
    RINGCOMM_TRY(lanes.check());
    const std::vector<OpRef> cycle = WaitGraph(slices, lanes).find_cycle();
    return cycle.empty() ? Status() : deadlock(slices, cycle);
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat("verifying a plan of ", slices.size(), " ranks"));
  }
}

}  // namespace ringcomm::inline v0::plan
