// SPDX-License-Identifier: Apache-2.0
// All slices of a rule, and what they must cover: shared by the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::plan::testing {

struct Case {
  std::string name;
  std::vector<RankPlan> slices;
  Coverage coverage;
};

template <class Rule>
std::vector<RankPlan> slices_of(const Rule& rule, Result<RankPlan> (*make)(const Rule&, int)) {
  std::vector<RankPlan> slices;
  for (int rank = 0; rank < rule.ranks; ++rank) {
    Result<RankPlan> slice = make(rule, rank);
    EXPECT_TRUE(slice.is_ok()) << slice.status().to_string();
    if (slice.is_ok()) slices.push_back(std::move(slice).value());
  }
  return slices;
}

inline std::vector<std::uint8_t> everything(int ranks) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), 1);
}

inline std::vector<std::uint8_t> only_own(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint8_t> matrix(n * n, 0);
  for (std::size_t rank = 0; rank < n; ++rank) matrix[rank * n + rank] = 1;
  return matrix;
}

inline Case rotation_case(const RotationRule& rule) {
  std::string name = concat(
      "rotation ranks ", rule.ranks, rule.access == Access::direct_read ? " direct_read" : " two_sided",
      rule.mode == RotationMode::direct ? " direct" : " relay",
      rule.overlap == Overlap::on ? " overlap" : " serial", " direction ", rule.direction, " chunk ",
      rule.chunk_bytes, rule.needed.empty() ? " all" : " pruned", " blocks");
  for (const std::uint64_t bytes : rule.block_bytes) name += concat(" ", bytes);
  return {
      std::move(name),
      slices_of(rule, rotation_slice),
      {.consumed = rule.needed.empty() ? everything(rule.ranks) : rule.needed, .chunks = 0, .visible = {}}};
}

inline Case all_gather_case(const AllGatherRule& rule) {
  return {
      concat("all-gather ranks ", rule.ranks, rule.access == Access::direct_read ? " direct" : " messages"),
      slices_of(rule, all_gather_slice),
      {.consumed = everything(rule.ranks), .chunks = 0, .visible = {}}};
}

inline Case barrier_case(const BarrierRule& rule) {
  return {concat("barrier ranks ", rule.ranks, rule.access == Access::direct_read ? " direct" : " messages"),
          slices_of(rule, barrier_slice),
          {}};
}

inline Case softmax_case(const SoftmaxRule& rule) {
  constexpr const char* kNames[] = {" one-shot", " two-shot", " packed", " gather-stats", " doubling"};
  Case c{concat("softmax ranks ", rule.ranks, rule.access == Access::direct_read ? " direct" : " messages",
                kNames[static_cast<int>(rule.algorithm)], rule.is_scattered ? " scattered" : "",
                rule.leaves_results ? " left" : "", " rows ", rule.rows),
         slices_of(rule, softmax_slice),
         {}};
  const bool is_one_shot = rule.algorithm == MergeAlgorithm::one_shot;
  c.coverage.consumed = is_one_shot || rule.is_scattered ? only_own(rule.ranks) : everything(rule.ranks);
  if (rule.algorithm == MergeAlgorithm::recursive_doubling) {
    const auto n = static_cast<std::size_t>(rule.ranks);
    c.coverage.consumed.assign(n * n, 0);
    for (std::size_t rank = 0; rank < n; ++rank) c.coverage.consumed[rank * n] = 1;
  }
  return c;
}

inline Case reduce_case(const ReduceRule& rule) {
  const char* const forms[] = {" one-shot", " two-shot", " scatter"};
  const bool is_whole = rule.form == ReduceForm::two_shot;
  return {concat("reduce ranks ", rule.ranks, rule.access == Access::direct_read ? " direct" : " messages",
                 forms[static_cast<int>(rule.form)]),
          slices_of(rule, reduce_slice),
          {.consumed = is_whole ? everything(rule.ranks) : only_own(rule.ranks), .chunks = 0, .visible = {}}};
}

inline Case broadcast_case(const BroadcastRule& rule) {
  const auto n = static_cast<std::size_t>(rule.ranks);
  Case c{concat("broadcast ranks ", rule.ranks, rule.access == Access::direct_read ? " direct" : " messages",
                " root ", rule.root, " bytes ", rule.bytes),
         slices_of(rule, broadcast_slice),
         {}};
  c.coverage.consumed.assign(n * n, 0);
  for (std::size_t rank = 0; rank < n; ++rank)
    c.coverage.consumed[rank * n + static_cast<std::size_t>(rule.root)] = 1;
  return c;
}

/// bytes[s * ranks + r] go from s to r.
inline Case all_to_all_case(int ranks, Access access, const std::vector<std::uint64_t>& bytes) {
  const auto n = static_cast<std::size_t>(ranks);
  Case c{concat("all-to-all ranks ", ranks, access == Access::direct_read ? " direct" : " messages"), {}, {}};
  c.coverage.consumed = everything(ranks);
  c.coverage.origins.assign(n * n, 0);
  c.coverage.sizes.assign(n * n, 0);
  for (std::size_t rank = 0; rank < n; ++rank) {
    AllToAllRule rule{.ranks = ranks, .access = access};
    std::uint64_t first = 0;
    for (std::size_t peer = 0; peer < n; ++peer) {
      rule.send_bytes.push_back(bytes[rank * n + peer]);
      rule.receive_bytes.push_back(bytes[peer * n + rank]);
      c.coverage.origins[peer * n + rank] = first;
      c.coverage.sizes[peer * n + rank] = bytes[rank * n + peer];
      first += bytes[rank * n + peer];
    }
    Result<RankPlan> slice = all_to_all_slice(rule, static_cast<int>(rank));
    EXPECT_TRUE(slice.is_ok()) << slice.status().to_string();
    if (slice.is_ok()) c.slices.push_back(std::move(slice).value());
  }
  return c;
}

/// `count` messages between random members, as each member would list them.
inline Case point_to_point_case(int ranks, int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<PointToPointRule> rules(static_cast<std::size_t>(ranks), {.ranks = ranks});
  for (int index = 0; index < count; ++index) {
    const auto from = random() % static_cast<unsigned>(ranks);
    const auto to = random() % static_cast<unsigned>(ranks);
    const std::uint64_t bytes = random() % 4 == 0 ? 0 : 1 + random() % 5;
    rules[from].messages.push_back({.is_send = true, .peer = static_cast<int>(to), .bytes = bytes});
    rules[to].messages.push_back({.is_send = false, .peer = static_cast<int>(from), .bytes = bytes});
  }
  Case c{concat("send-recv ranks ", ranks, " messages ", count, " seed ", seed), {}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    Result<RankPlan> slice = point_to_point_slice(rules[static_cast<std::size_t>(rank)], rank);
    EXPECT_TRUE(slice.is_ok()) << slice.status().to_string();
    if (slice.is_ok()) c.slices.push_back(std::move(slice).value());
  }
  return c;
}

/// Every algorithm, with slices by rule and by counts, kept and shared. Four of a row's bytes are statistics.
inline std::vector<SoftmaxRule> softmax_forms(int ranks, Access access, std::uint64_t rows) {
  std::vector<SoftmaxRule> forms;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks), 0);  // the last rank merges all
  counts.back() = rows;
  for (const auto algorithm :
       {MergeAlgorithm::one_shot, MergeAlgorithm::two_shot, MergeAlgorithm::packed_all_to_all,
        MergeAlgorithm::gather_stats, MergeAlgorithm::recursive_doubling}) {
    const bool is_whole =
        algorithm == MergeAlgorithm::one_shot || algorithm == MergeAlgorithm::recursive_doubling;
    SoftmaxRule rule{.ranks = ranks, .access = access, .algorithm = algorithm, .rows = rows, .row_bytes = 6};
    rule.statistic_bytes = 4;
    if (is_whole && ranks == 1 && algorithm != MergeAlgorithm::one_shot) continue;
    forms.push_back(rule);
    if (algorithm != MergeAlgorithm::gather_stats && algorithm != MergeAlgorithm::recursive_doubling) {
      forms.push_back(rule);
      forms.back().leaves_results = true;
    }
    if (is_whole) continue;
    rule.is_scattered = true;
    forms.push_back(rule);
    rule.counts = counts;
    forms.push_back(rule);
  }
  return forms;
}

/// Every access, mode, overlap and direction that exists.
inline std::vector<RotationRule> rotation_forms(int ranks) {
  std::vector<RotationRule> forms;
  for (const auto& [access, mode] : {std::pair{Access::direct_read, RotationMode::direct},
                                     std::pair{Access::direct_read, RotationMode::relay},
                                     std::pair{Access::two_sided, RotationMode::relay}}) {
    for (const Overlap overlap : {Overlap::on, Overlap::off}) {
      for (const int direction : {1, -1}) {
        forms.push_back(
            {.ranks = ranks, .access = access, .mode = mode, .overlap = overlap, .direction = direction});
      }
    }
  }
  return forms;
}

/// Causal attention, one chunk per rank.
inline Case attention_case(RotationRule rule) {
  const auto n = static_cast<std::size_t>(rule.ranks);
  rule.needed.resize(n * n);
  for (std::size_t pair = 0; pair < n * n; ++pair) rule.needed[pair] = pair / n >= pair % n ? 1 : 0;
  Case c = rotation_case(rule);
  c.name = "attention " + c.name;
  c.coverage.chunks = rule.ranks;
  c.coverage.visible = rule.needed;
  for (RankPlan& slice : c.slices) {
    for (Op& op : slice.ops) {
      if (op.kind != OpKind::compute) continue;
      op.tile_first = static_cast<std::uint32_t>(slice.tiles.size());
      op.tile_count = 1;
      slice.tiles.push_back({.q_chunk = slice.rank, .k_chunk = op.block});
    }
  }
  return c;
}

}  // namespace ringcomm::plan::testing
