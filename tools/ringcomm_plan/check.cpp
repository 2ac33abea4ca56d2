// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <chrono>

#include "core/try.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

struct Slices {
  std::string subject;
  std::vector<plan::RankPlan> all;
  plan::Coverage coverage;
};

std::uint64_t row_bytes(const Request& request, const Split& split) {
  return 2 * static_cast<std::uint64_t>(kv_heads_per_rank(request.shape, split.tp)) *
         static_cast<std::uint64_t>(request.shape.head_dim) * bytes_of(request.shape.dtype) *
         static_cast<std::uint64_t>(request.work.micro_batch);
}

AttentionSpec spec_of(const Request& request, const Split& split, Strategy strategy, plan::Access access,
                      const CheckOptions& options) {
  AttentionSpec spec;
  spec.tokens = request.work.tokens;
  spec.q_heads = request.shape.heads / split.tp;
  spec.kv_heads = kv_heads_per_rank(request.shape, split.tp);
  spec.head_dim = request.shape.head_dim;
  spec.dtype = request.shape.dtype;
  spec.mask = request.shape.mask;
  spec.layout = layout_of(request.shape, request.work);
  spec.chunk_bytes = options.chunk_bytes;
  const bool is_direct = options.mode.value_or(access == plan::Access::direct_read
                                                   ? plan::RotationMode::direct
                                                   : plan::RotationMode::relay) == plan::RotationMode::direct;
  spec.strategy = strategy == Strategy::all_gather ? AttentionStrategy::all_gather
                  : is_direct                      ? AttentionStrategy::ring_direct
                                                   : AttentionStrategy::ring_relay;
  return spec;
}

/// [ranks * ranks] 1 where a query of the first rank sees a key of the second.
std::vector<std::uint8_t> needed_blocks(const ShardMap& map, Mask mask) {
  const auto ranks = static_cast<std::size_t>(map.ranks());
  std::vector<std::uint8_t> needed(ranks * ranks, 0);
  for (const Chunk& q : map.chunks()) {
    for (const Chunk& k : map.chunks()) {
      if (classify(band_of(mask), q.first, q.count, k.first, k.count).visibility != Visibility::none)
        needed[static_cast<std::size_t>(q.rank) * ranks + static_cast<std::size_t>(k.rank)] = 1;
    }
  }
  return needed;
}

Result<Slices> rotation(const Request& request, const Split& split, const AttentionSpec& spec,
                        plan::Access access, const CheckOptions& options, const std::string& why) {
  RINGCOMM_TRY_ASSIGN(const ShardMap map, ShardMap::create(spec.layout, spec.tokens, split.cp));
  plan::RotationRule rule;
  rule.ranks = split.cp;
  rule.access = access;
  rule.mode = spec.strategy == AttentionStrategy::ring_direct ? plan::RotationMode::direct
                                                              : plan::RotationMode::relay;
  rule.direction = options.direction;
  rule.chunk_bytes = options.chunk_bytes;
  rule.needed = needed_blocks(map, spec.mask);
  for (int rank = 0; rank < split.cp; ++rank)
    rule.block_bytes.push_back(static_cast<std::uint64_t>(map.rows_of(rank)) * row_bytes(request, split));
  Slices slices{
      .subject = concat("rotation of KV blocks, without tiles (", why, ")"), .all = {}, .coverage = {}};
  for (int rank = 0; rank < split.cp; ++rank) {
    RINGCOMM_TRY_ASSIGN(plan::RankPlan slice, plan::rotation_slice(rule, rank));
    slices.all.push_back(std::move(slice));
  }
  slices.coverage.consumed = rule.needed;
  return slices;
}

/// Q, K and V of every rank's rows to the owners of the heads.
Result<Slices> exchange(const Request& request, const Split& split, plan::Access access) {
  RINGCOMM_TRY_ASSIGN(const ShardMap map, ShardMap::create(layout_of(request.shape, request.work),
                                                           request.work.tokens, split.cp));
  const int heads = request.shape.heads / split.tp;
  const int kv_heads = kv_heads_per_rank(request.shape, split.tp);
  const auto item = static_cast<std::uint64_t>(request.shape.head_dim) * bytes_of(request.shape.dtype) *
                    static_cast<std::uint64_t>(request.work.micro_batch);
  const auto bytes = [&](int from, int to) {
    const int first = to * heads / split.cp;
    const int last = (to + 1) * heads / split.cp;
    const int group = heads / kv_heads;
    const int kv = last > first ? (last - 1) / group - first / group + 1 : 0;
    return static_cast<std::uint64_t>(map.rows_of(from)) * item *
           static_cast<std::uint64_t>(last - first + 2 * kv);
  };
  Slices slices{.subject = "all-to-all of Q, K and V, heads for sequence", .all = {}, .coverage = {}};
  const auto ranks = static_cast<std::size_t>(split.cp);
  slices.coverage.consumed.assign(ranks * ranks, 1);
  slices.coverage.origins.assign(ranks * ranks, 0);
  slices.coverage.sizes.assign(ranks * ranks, 0);
  for (int rank = 0; rank < split.cp; ++rank) {
    plan::AllToAllRule rule{.ranks = split.cp, .access = access};
    std::uint64_t first = 0;
    for (int peer = 0; peer < split.cp; ++peer) {
      rule.send_bytes.push_back(bytes(rank, peer));
      rule.receive_bytes.push_back(bytes(peer, rank));
      const std::size_t place = static_cast<std::size_t>(peer) * ranks + static_cast<std::size_t>(rank);
      slices.coverage.origins[place] = first;
      slices.coverage.sizes[place] = bytes(rank, peer);
      first += bytes(rank, peer);
    }
    RINGCOMM_TRY_ASSIGN(plan::RankPlan slice, plan::all_to_all_slice(rule, rank));
    slices.all.push_back(std::move(slice));
  }
  return slices;
}

Result<Slices> derive(const Request& request, const Split& split, Strategy strategy, plan::Access access,
                      const CheckOptions& options) {
  if (strategy == Strategy::double_ring) {
    return Status::not_available(
        "check of double-ring: this version has no plan for it (the planner compares its time only). "
        "--strategy ring?");
  }
  if (strategy == Strategy::all_to_all) return exchange(request, split, access);
  const AttentionSpec spec = spec_of(request, split, strategy, access, options);
  std::string why;
  if (options.direction != +1)
    why = "attention turns in direction +1 only";
  else if (request.work.micro_batch != 1)
    why = "a plan with tiles has one sequence";
  else if (const Status status = RingAttention::supports(spec, split.cp); !status.is_ok())
    why = status.message();
  if (!why.empty() && strategy == Strategy::ring) return rotation(request, split, spec, access, options, why);
  Slices slices{.subject = "attention plan with its tiles", .all = {}, .coverage = {}};
  RINGCOMM_TRY_ASSIGN(slices.all, attention_plan(spec, split.cp, access));
  RINGCOMM_TRY_ASSIGN(slices.coverage, attention_coverage(spec, split.cp));
  return slices;
}

double pairs_of(const ShardMap& map, Mask mask, int rank) {
  double pairs = 0;
  for (const Chunk& q : map.chunks_of(rank)) {
    for (const Chunk& k : map.chunks())
      pairs += static_cast<double>(visible_pairs(band_of(mask), q.first, q.count, k.first, k.count));
  }
  return pairs;
}

}  // namespace

Result<CheckReport> check_plan(const Request& request, const Split& split, Strategy strategy,
                               const CheckOptions& options) {
  if (split.cp > kCheckRanksMax) {
    return Status::invalid_argument(concat("check of cp ", split.cp, ": the proof is made for up to ",
                                           kCheckRanksMax, " ranks (--cp ", kCheckRanksMax,
                                           " checks the same rule)"));
  }
  const auto started = std::chrono::steady_clock::now();
  const bool is_far = place_cp(request.fabric, split).hosts > 1;
  const plan::Access access =
      options.access.value_or(is_far ? plan::Access::two_sided : plan::Access::direct_read);
  RINGCOMM_TRY_ASSIGN(const Slices slices, derive(request, split, strategy, access, options));
  CheckReport report{.subject = slices.subject, .ranks = split.cp};
  RINGCOMM_TRY_ASSIGN(report.facts, plan::verify(slices.all, slices.coverage));
  RINGCOMM_TRY_ASSIGN(const ShardMap map, ShardMap::create(layout_of(request.shape, request.work),
                                                           request.work.tokens, split.cp));
  report.hash = 0xcbf29ce484222325U;
  for (const plan::RankPlan& slice : slices.all) {
    report.steps = std::max(report.steps, slice.steps);
    report.tiles.push_back(slice.tiles.size());
    report.slot_bytes.push_back(slice.arena_bytes());
    report.pairs.push_back(pairs_of(map, request.shape.mask, slice.rank));
    report.hash = (report.hash ^ plan::hash(slice)) * 0x100000001b3U;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return report;
}

}  // namespace ringcomm::planner
