// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/reduce_kernels.hpp"
#include "collectives/staged_run.hpp"
#include "collectives/tensor_checks.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

using plan::ReduceForm;

// Below, one round costs less than two; measured on shared memory (communication.md 7.2).
constexpr std::uint64_t kOneShotBytesOfTwo = 8192;
constexpr std::uint64_t kOneShotBytesOfMany = 4096;
/// Slices begin at whole cache lines of an aligned tensor, so that no line is written by two ranks.
constexpr std::uint64_t kLineBytes = 64;

/// All that one call is about; no memory of its own.
struct Reduction {
  OpCode code = OpCode::all_reduce;
  TensorView input;
  TensorView output;
  ReduceOp op = ReduceOp::sum;
  ReduceForm form = ReduceForm::scatter;
  std::span<const std::int64_t> counts{};  ///< reduce_scatter; empty: the output's everywhere
  bool is_input_readable = false;
  bool is_output_readable = false;  ///< peers may read the reduced slice where it belongs
  bool is_in_place = false;         ///< both begin at one address
};

ReduceForm chosen(int ranks, std::uint64_t bytes) {
  const std::uint64_t limit = ranks <= 2 ? kOneShotBytesOfTwo : kOneShotBytesOfMany;
  return bytes <= limit || ranks == 1 ? ReduceForm::one_shot : ReduceForm::two_shot;
}

std::vector<std::uint64_t> slice_bytes_of(const Reduction& call, int ranks) {
  const std::uint64_t element = bytes_of(call.input.dtype);
  std::vector<std::uint64_t> slices;
  if (call.form == ReduceForm::scatter) {
    const auto own = static_cast<std::uint64_t>(call.output.element_count());
    slices.assign(static_cast<std::size_t>(ranks), own * element);
    for (std::size_t rank = 0; rank < call.counts.size(); ++rank)
      slices[rank] = static_cast<std::uint64_t>(call.counts[rank]) * element;
    return slices;
  }
  const std::uint64_t bytes = call.input.bytes();
  const std::uint64_t lines = bytes / kLineBytes + (bytes % kLineBytes != 0 ? 1 : 0);
  const auto first = [&](int rank) {
    return std::min(bytes, plan::slice_first(lines, ranks, rank) * kLineBytes);
  };
  for (int rank = 0; rank < ranks; ++rank) slices.push_back(first(rank + 1) - first(rank));
  return slices;
}

class ReduceRun : public StagedRun {
 public:
  ReduceRun(Channel& channel, const Reduction& call, plan::ReduceRule rule)
      : StagedRun(channel),
        dtype_(call.input.dtype),
        op_(call.op),
        output_(static_cast<std::byte*>(call.output.data)),
        rule_(std::move(rule)),
        sources_(static_cast<std::size_t>(rule_.ranks)) {
    std::uint64_t first = 0;
    for (const std::uint64_t bytes : rule_.slice_bytes) {
      places_.push_back(rule_.form == ReduceForm::two_shot ? first : 0);
      first += bytes;
    }
    compute = [](Runnable& self, const Compute& step) {
      auto& run = static_cast<ReduceRun&>(self);
      if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::merge)) {
        run.reduce(step);
      } else {
        run.copy_result(step);
      }
    };
  }

  Status lower_slice(const Reduction& call, plan::RankPlan slice) {
    RINGCOMM_TRY_ASSIGN(std::byte* const input, readable(call.input));
    RINGCOMM_TRY_ASSIGN(std::byte* const reduced, place_of_reduced(call, slice));
    slots_ = {input, reduced};
    const auto inboxes = static_cast<std::size_t>(rule_.access == plan::Access::two_sided ? rule_.ranks : 0);
    for (std::size_t peer = 0; peer < inboxes; ++peer) {
      RINGCOMM_TRY_ASSIGN(std::byte* const inbox, take_block(slice.slots[slots_.size()].bytes));
      slots_.push_back(inbox);
    }
    if (slots_.size() < slice.slots.size()) slots_.push_back(output_);
    RINGCOMM_TRY_ASSIGN(program, lower(std::move(slice), slots_, common));
    return {};
  }

 private:
  // Straight into the output where nobody can see it too early: peers that read the input in place must not
  // find the result in it, and peers that read the result must be able to.
  Result<std::byte*> place_of_reduced(const Reduction& call, const plan::RankPlan& slice) {
    const bool is_direct = rule_.access == plan::Access::direct_read;
    const bool is_read_while_written =
        rule_.form == ReduceForm::one_shot && rule_.ranks > 1 && call.is_in_place && call.is_input_readable;
    const bool must_be_offered = rule_.form == ReduceForm::two_shot && !call.is_output_readable;
    if (is_direct && (is_read_while_written || must_be_offered)) return take_block(slice.slots[1].bytes);
    if (output_ == nullptr) return output_;  // nothing to reduce
    return output_ + places_[static_cast<std::size_t>(slice.rank)];
  }

  void reduce(const Compute& step) {
    const int own = program.slice.rank;
    const std::size_t element = bytes_of(dtype_);
    for (int rank = 0; rank < rule_.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (rank == own) {
        sources_[at] = step.slot + step.op.offset;
      } else if (rule_.access == plan::Access::direct_read) {
        sources_[at] = program.views[at].data;
      } else {
        sources_[at] = slots_[kFirstInbox + at];
      }
    }
    reduce_elements(dtype_, op_, step.target, sources_, static_cast<std::int64_t>(step.op.bytes / element));
  }

  void copy_result(const Compute& step) {
    if (step.op.bytes == 0) return;
    const std::byte* const from = step.view != nullptr ? step.view->data : step.slot + step.op.offset;
    std::byte* const to = output_ + places_[static_cast<std::size_t>(step.op.block)];
    if (from != to) std::memcpy(to, from, step.op.bytes);
  }

  static constexpr std::size_t kFirstInbox = 2;  ///< as in the plan
  DType dtype_;
  ReduceOp op_;
  std::byte* output_;
  plan::ReduceRule rule_;
  std::vector<std::uint64_t> places_;  ///< [ranks] of each reduced slice in the output
  std::vector<std::byte*> slots_;
  std::vector<const std::byte*> sources_;  ///< scratch of reduce()
};

Result<std::shared_ptr<Runnable>> make_reduction(Channel& channel, const Reduction& call) {
  plan::ReduceRule rule{.ranks = channel.size(), .access = access_of(channel), .form = call.form};
  rule.slice_bytes = slice_bytes_of(call, rule.ranks);
  RINGCOMM_TRY(check_plan(rule.ranks, [&](int rank) { return plan::reduce_slice(rule, rank); }));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::reduce_slice(rule, channel.rank()));
  auto made = std::make_shared<ReduceRun>(channel, call, rule);
  made->common.op = call.code;
  made->common.dtype = call.input.dtype;
  made->common.reduce_op = call.op;
  // Sizes travel as bytes with every block, so that a difference is named in numbers.
  made->common.bytes = call.input.bytes();
  made->common.signature = plan::Fnv().add(call.code).add(rule.ranks).add(rule.access).add(rule.form).value();
  RINGCOMM_TRY(made->lower_slice(call, std::move(slice)));
  return std::shared_ptr<Runnable>(std::move(made));
}

Result<Work> run_reduction(Channel& channel, const Reduction& call, const CallOptions& options) {
  auto& programs = ChannelState::of(channel).programs;
  const auto key = ProgramKey()
                       .add(static_cast<std::uint64_t>(call.code))
                       .add(static_cast<std::uint64_t>(call.op))
                       .add(static_cast<std::uint64_t>(call.form))
                       .add(static_cast<std::uint64_t>(call.is_input_readable))
                       .add(static_cast<std::uint64_t>(call.is_output_readable))
                       .add(call.input)
                       .add(call.output);
  return launch_cached(channel, programs, key, call.counts, options,
                       [&] { return make_reduction(channel, call); });
}

Status check_pair(std::string_view what, const Reduction& call) {
  RINGCOMM_TRY(check_host(what, "input", call.input));
  RINGCOMM_TRY(check_host(what, "output", call.output));
  RINGCOMM_TRY(check_output(what, call.input, call.output));
  return check_reducible(what, call.input.dtype, call.op);
}

/// Elements of the input, and the place of the output in it that is possible.
Status check_scatter(const Channel& channel, Reduction& call) {
  constexpr std::string_view kWhat = "reduce_scatter";
  const std::int64_t own = call.output.element_count();
  std::int64_t first = 0;
  if (call.counts.empty()) {
    std::int64_t total = 0;
    if (__builtin_mul_overflow(own, static_cast<std::int64_t>(channel.size()), &total))
      return Status::invalid_argument(concat(kWhat, ": the sum of the counts does not fit 63 bits"));
    RINGCOMM_TRY(check_elements(kWhat, "input", call.input, total));
    first = own * channel.rank();
  } else {
    RINGCOMM_TRY_ASSIGN(const std::int64_t total,
                        sum_of(kWhat, "counts", call.counts, channel.size(), call.input.dtype));
    const auto rank = static_cast<std::size_t>(channel.rank());
    RINGCOMM_TRY(check_elements(kWhat, "input", call.input, total));
    RINGCOMM_TRY(check_elements(kWhat, "output", call.output, call.counts[rank]));
    for (std::size_t peer = 0; peer < rank; ++peer) first += call.counts[peer];
  }
  if (call.input.is_contiguous() && call.input.data != nullptr &&
      call.output.data == static_cast<std::byte*>(call.input.data) +
                              static_cast<std::size_t>(first) * bytes_of(call.input.dtype))
    return {};
  return check_apart(kWhat, call.input, call.output);
}

}  // namespace

Result<Work> all_reduce_by(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                           std::optional<ReduceForm> form, const CallOptions& options) {
  constexpr std::string_view kWhat = "all_reduce";
  Reduction call{.input = input, .output = output, .op = op};
  RINGCOMM_TRY(check_pair(kWhat, call));
  RINGCOMM_TRY(check_elements(kWhat, "output", output, input.element_count()));
  call.is_in_place = input.is_contiguous() && input.data == output.data;
  if (!call.is_in_place) RINGCOMM_TRY(check_apart(kWhat, input, output));
  call.form = form.value_or(chosen(channel.size(), input.bytes()));
  call.is_input_readable = is_readable(channel, input);
  call.is_output_readable = is_readable(channel, output);
  return run_reduction(channel, call, options);
}

}  // namespace collectives

Result<Work> all_reduce(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                        const CallOptions& options) {
  return comm::guard("all_reduce", [&]() -> Result<Work> {
    return collectives::all_reduce_by(channel, input, output, op, {}, options);
  });
}

Result<Work> reduce_scatter(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                            std::span<const std::int64_t> counts, const CallOptions& options) {
  return comm::guard("reduce_scatter", [&]() -> Result<Work> {
    collectives::Reduction call{.code = OpCode::reduce_scatter, .input = input, .output = output, .op = op};
    call.counts = counts;
    RINGCOMM_TRY(collectives::check_pair("reduce_scatter", call));
    RINGCOMM_TRY(collectives::check_scatter(channel, call));
    call.is_input_readable = collectives::is_readable(channel, input);
    return collectives::run_reduction(channel, call, options);
  });
}

}  // namespace ringcomm::inline v0
