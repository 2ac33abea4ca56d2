// SPDX-License-Identifier: Apache-2.0
// softmax_all_reduce: its arguments, and which algorithm serves them.
#include <utility>

#include "collectives/channel_state.hpp"
#include "collectives/softmax_call.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

// Up to here messages cost latency, not bytes (communication spec 7.2).
constexpr std::uint64_t kDoublingBytesMax = 8192;
constexpr int kGatherRanksMax = 4;

plan::MergeAlgorithm automatic_choice(const Channel& channel, const plan::SoftmaxRule& rule,
                                      MergeOrder order) {
  const std::uint64_t bytes = rule.rows * rule.row_bytes;
  const bool has_messages = rule.access == plan::Access::two_sided;
  if (has_messages && order == MergeOrder::fast && rule.ranks > kGatherRanksMax && bytes <= kDoublingBytesMax)
    return plan::MergeAlgorithm::recursive_doubling;
  if (rule.ranks == 1 || bytes <= one_shot_limit(channel, rule)) return plan::MergeAlgorithm::one_shot;
  return has_messages ? plan::MergeAlgorithm::packed_all_to_all : plan::MergeAlgorithm::two_shot;
}

Result<plan::MergeAlgorithm> chosen(const Channel& channel, const plan::SoftmaxRule& rule, MergeChoice choice,
                                    MergeOrder order) {
  switch (choice) {
    case MergeChoice::one_shot:
      return plan::MergeAlgorithm::one_shot;
    case MergeChoice::two_shot:
      return plan::MergeAlgorithm::two_shot;
    case MergeChoice::packed_all_to_all:
      return plan::MergeAlgorithm::packed_all_to_all;
    case MergeChoice::gather_stats:
      return plan::MergeAlgorithm::gather_stats;
    case MergeChoice::recursive_doubling:
      break;
    default:
      return automatic_choice(channel, rule, order);
  }
  if (order != MergeOrder::fast) {
    return Status::invalid_argument(
        "softmax_all_reduce: recursive_doubling merges in pairs, which order = canonical (k-way in rank "
        "order) "
        "excludes; ask for order = fast");
  }
  return rule.ranks == 1 ? plan::MergeAlgorithm::one_shot : plan::MergeAlgorithm::recursive_doubling;
}

Result<SoftmaxCall> check_call(const Channel& channel, const SoftmaxPartial& partial,
                               const SoftmaxPartial& result, const SoftmaxAllReduceOptions& options) {
  RINGCOMM_TRY(check_partial(partial, "softmax_all_reduce: partial"));
  RINGCOMM_TRY(check_partial(result, "softmax_all_reduce: result"));
  RINGCOMM_TRY(check_same(partial, "softmax_all_reduce: partial", result, "result"));
  if (partial.out.dtype != result.out.dtype) {
    return Status::invalid_argument(concat("softmax_all_reduce: partial is ", name_of(partial.out.dtype),
                                           ", result is ", name_of(result.out.dtype)));
  }
  RINGCOMM_TRY(check_aliasing(partial, "softmax_all_reduce: partial", result, "result"));
  SoftmaxCall call{.op = OpCode::softmax_all_reduce, .partial = partial, .result = result, .rule = {}};
  RINGCOMM_TRY(set_rule(channel, call, "softmax_all_reduce"));
  RINGCOMM_TRY_ASSIGN(call.rule.algorithm, chosen(channel, call.rule, options.algorithm, options.order));
  call.stores = stores_for(channel, call.rule, options.stores);
  // What is merged in pairs travels as (m, l, out~) in fp32, so that it is rounded once, as everywhere.
  if (call.rule.algorithm == plan::MergeAlgorithm::recursive_doubling)
    call.rule.row_bytes = softmax_row_bytes(partial.dim(), DType::float32, PartialForm::unnormalised);
  return call;
}

Result<SoftmaxCall> check_in_place(const Channel& channel, const SoftmaxPartial& partial,
                                   const SoftmaxAllReduceOptions& options) {
  constexpr std::string_view kWhat = "softmax_all_reduce_in_place";
  RINGCOMM_TRY(check_partial(partial, "softmax_all_reduce_in_place: partial"));
  if (options.call.stream) {
    return Status::invalid_argument(
        concat(kWhat, ": a stream was given, but the call returns what has been merged (give none)"));
  }
  SoftmaxCall call{.op = OpCode::softmax_all_reduce, .partial = partial, .result = partial, .rule = {}};
  RINGCOMM_TRY(set_rule(channel, call, kWhat));
  call.rule.leaves_results = true;
  RINGCOMM_TRY_ASSIGN(call.rule.algorithm,
                      chosen(channel, call.rule, options.algorithm, MergeOrder::canonical));
  call.stores = stores_for(channel, call.rule, options.stores);
  if (call.rule.algorithm != plan::MergeAlgorithm::gather_stats) return call;
  return Status::invalid_argument(concat(
      kWhat, ": gather_stats does not leave results in place (one_shot, two_shot and packed_all_to_all do)"));
}

/// Runs it; the loan's number.
Result<std::uint64_t> run_in_place(Channel& channel, const std::shared_ptr<Runnable>& runnable,
                                   const CallOptions& options) {
  RINGCOMM_TRY(launch(channel, runnable, options).status());
  return ChannelState::of(channel).lend(runnable);
}

}  // namespace
}  // namespace collectives

Result<Work> softmax_all_reduce(Channel& channel, const SoftmaxPartial& partial, const SoftmaxPartial& result,
                                const SoftmaxAllReduceOptions& options) {
  return comm::guard("softmax_all_reduce", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto call, collectives::check_call(channel, partial, result, options));
    return collectives::run_call(channel, call, options.call);
  });
}

MergedRows& MergedRows::operator=(MergedRows&& other) noexcept {
  if (this == &other) return *this;
  static_cast<void>(release().is_ok());
  parts_ = std::exchange(other.parts_, {});
  channel_ = std::move(other.channel_);
  loan_ = std::exchange(other.loan_, 0);
  return *this;
}

MergedRows::~MergedRows() { static_cast<void>(release().is_ok()); }

Status MergedRows::release() {
  parts_ = {};
  const std::shared_ptr<void> channel = std::exchange(channel_, {}).lock();
  return channel ? static_cast<collectives::ChannelState*>(channel.get())->give_back(loan_) : Status();
}

Result<MergedRows> softmax_all_reduce_in_place(Channel& channel, const SoftmaxPartial& partial,
                                               const SoftmaxAllReduceOptions& options) {
  MergedRows rows;
  const auto done = comm::guard("softmax_all_reduce_in_place", [&]() -> Result<std::uint64_t> {
    RINGCOMM_TRY_ASSIGN(const auto call, collectives::check_in_place(channel, partial, options));
    RINGCOMM_TRY_ASSIGN(const auto runnable, collectives::program_of(channel, call));
    RINGCOMM_TRY_ASSIGN(const std::uint64_t loan, collectives::run_in_place(channel, runnable, options.call));
    rows.parts_ = collectives::parts_of(*runnable);
    return loan;
  });
  RINGCOMM_TRY(done.status());
  rows.loan_ = done.value();
  rows.channel_ = channel.extension();
  return rows;
}

}  // namespace ringcomm::inline v0
