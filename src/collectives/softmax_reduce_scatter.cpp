// SPDX-License-Identifier: Apache-2.0
// softmax_reduce_scatter: its arguments, the share of every member, and which algorithm serves them.
#include <numeric>

#include "collectives/memory_range.hpp"
#include "collectives/softmax_call.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

constexpr std::string_view kWhat = "softmax_reduce_scatter";

Result<plan::MergeAlgorithm> scatter_algorithm(MergeChoice choice, const plan::SoftmaxRule& rule) {
  switch (choice) {
    case MergeChoice::two_shot:
      return plan::MergeAlgorithm::two_shot;
    case MergeChoice::packed_all_to_all:
      return plan::MergeAlgorithm::packed_all_to_all;
    case MergeChoice::gather_stats:
      return plan::MergeAlgorithm::gather_stats;
    case MergeChoice::automatic:
      return rule.access == plan::Access::two_sided ? plan::MergeAlgorithm::packed_all_to_all
                                                    : plan::MergeAlgorithm::two_shot;
    default:
      break;
  }
  const std::string_view name = choice == MergeChoice::one_shot ? "one_shot" : "recursive_doubling";
  return Status::invalid_argument(
      concat(kWhat, ": algorithm ", name,
             " gives all rows to all (take two_shot, packed_all_to_all or gather_stats)"));
}

/// Rows, or heads, that each member keeps.
Result<std::vector<std::int64_t>> shares(const std::vector<std::int64_t>& counts, int ranks,
                                         std::int64_t total, std::string_view unit) {
  std::vector<std::int64_t> kept = counts;
  for (int rank = 0; rank < ranks && counts.empty(); ++rank) {
    const auto extent = static_cast<std::uint64_t>(total);
    kept.push_back(static_cast<std::int64_t>(plan::slice_first(extent, ranks, rank + 1) -
                                             plan::slice_first(extent, ranks, rank)));
  }
  if (kept.size() != static_cast<std::size_t>(ranks))
    return Status::invalid_argument(concat(kWhat, ": ", kept.size(), " counts for ", ranks, " ranks"));
  std::int64_t left = total;
  for (std::size_t rank = 0; rank < kept.size(); ++rank) {
    if (kept[rank] < 0) {
      return Status::invalid_argument(
          concat(kWhat, ": count of rank ", rank, " is ", kept[rank], " (negative)"));
    }
    if (kept[rank] > left) {
      return Status::invalid_argument(
          concat(kWhat, ": the counts of ranks 0 to ", rank, " are more than the ", total, " ", unit));
    }
    left -= kept[rank];
  }
  if (left == 0) return kept;
  return Status::invalid_argument(
      concat(kWhat, ": the counts sum to ", total - left, ", the partial has ", total, " ", unit));
}

Status set_shares(const Channel& channel, SoftmaxCall& call, const SoftmaxReduceScatterOptions& options) {
  const std::int64_t rows = call.partial.rows();
  std::int64_t rows_of_unit = 1;
  std::vector<std::int64_t> kept;
  if (options.scatter == MergeScatter::rows) {
    RINGCOMM_TRY_ASSIGN(kept, shares(options.counts, channel.size(), rows, "rows"));
  } else {
    if (options.heads < 1 || rows % options.heads != 0) {
      return Status::invalid_argument(
          concat(kWhat, ": heads = ", options.heads, " does not divide ", rows, " rows ([tokens, heads])"));
    }
    RINGCOMM_TRY_ASSIGN(kept, shares(options.counts, channel.size(), options.heads, "heads"));
    rows_of_unit = rows / options.heads;
    call.heads = options.heads;
    call.head_counts = kept;
  }
  for (const std::int64_t count : kept)
    call.rule.counts.push_back(static_cast<std::uint64_t>(count * rows_of_unit));
  return {};
}

Status check_result(const SoftmaxCall& call, int rank) {
  SoftmaxPartial share = call.partial;  // what the result has to look like
  share.out.shape[0] = static_cast<std::int64_t>(call.rule.counts[static_cast<std::size_t>(rank)]);
  RINGCOMM_TRY(check_same(share, concat(kWhat, ": the share of rank ", rank), call.result, "result"));
  if (call.partial.out.dtype != call.result.out.dtype) {
    return Status::invalid_argument(concat(kWhat, ": partial is ", name_of(call.partial.out.dtype),
                                           ", result is ", name_of(call.result.out.dtype)));
  }
  for (const TensorView& from : {call.partial.out, call.partial.statistic}) {
    for (const TensorView& to : {call.result.out, call.result.statistic}) {
      if (range_of(from).overlaps(range_of(to)))
        return Status::invalid_argument(concat(kWhat, ": result overlaps partial"));
    }
  }
  return {};
}

Result<SoftmaxCall> check_call(const Channel& channel, const SoftmaxPartial& partial,
                               const SoftmaxPartial& result, const SoftmaxReduceScatterOptions& options) {
  RINGCOMM_TRY(check_partial(partial, concat(kWhat, ": partial")));
  RINGCOMM_TRY(check_partial(result, concat(kWhat, ": result")));
  SoftmaxCall call{.op = OpCode::softmax_reduce_scatter, .partial = partial, .result = result, .rule = {}};
  call.rule.is_scattered = true;
  RINGCOMM_TRY(set_rule(channel, call, kWhat));
  RINGCOMM_TRY_ASSIGN(call.rule.algorithm, scatter_algorithm(options.algorithm, call.rule));
  RINGCOMM_TRY(set_shares(channel, call, options));
  call.stores = stores_for(channel, call.rule);
  RINGCOMM_TRY(check_result(call, channel.rank()));
  return call;
}

}  // namespace
}  // namespace collectives

Result<Work> softmax_reduce_scatter(Channel& channel, const SoftmaxPartial& partial,
                                    const SoftmaxPartial& result,
                                    const SoftmaxReduceScatterOptions& options) {
  return comm::guard("softmax_reduce_scatter", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto call, collectives::check_call(channel, partial, result, options));
    return collectives::run_call(channel, call, options.call);
  });
}

}  // namespace ringcomm::inline v0
