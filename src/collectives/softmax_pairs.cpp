// SPDX-License-Identifier: Apache-2.0
// The merge by recursive doubling: partials are widened once, to (m, l, out~) in fp32, merged in pairs, and
// divided and rounded once. (An lse between the merges would be rounded each time, which costs e^(ulp(lse)):
// 6e-5 for lse = 1000.)
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/softmax_call.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

class SoftmaxPairs final : public Runnable {
 public:
  SoftmaxPairs(Channel& channel, const SoftmaxCall& call)
      : channel_(channel),
        form_(call.partial.form),
        base_(call.partial.base),
        dim_(call.partial.dim()),
        rows_(call.partial.rows()),
        partial_(rows_of(call.partial)),
        result_(rows_of(call.result)) {
    compute = [](Runnable& self, const Compute& step) { static_cast<SoftmaxPairs&>(self).run(step); };
  }

  /// The caller's memory is read once and written once, by this rank alone: it has no address here. Slot 1
  /// is for the last division, since a peer may still read what is divided.
  Status allocate(plan::RankPlan slice, const Descriptor& descriptor) {
    slots_.assign(1, nullptr);
    for (std::size_t slot = slots_.size(); slot < slice.slots.size(); ++slot) {
      RINGCOMM_TRY_ASSIGN(auto taken, channel_.allocate(slice.slots[slot].bytes));
      slots_.push_back(taken.data());
      blocks_.push_back(std::move(taken));
    }
    common = descriptor;
    RINGCOMM_TRY_ASSIGN(program, lower(std::move(slice), slots_, common));
    return {};
  }

 private:
  PartialRows wide(std::byte* at) const {
    return rows_in_block(at, rows_, dim_, DType::float32, PartialForm::unnormalised);
  }

  void run(const Compute& step) {
    if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::consume)) {
      widen(wide(step.target));
    } else if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::merge_pair)) {
      const PartialRows own = wide(step.slot);
      const PartialRows theirs = wide(slots_[static_cast<std::size_t>(step.op.slot) + 1]);
      // Both of a pair merge the same two in the same order, so that they go on with the same bits.
      const bool is_lower = program.slice.rank < step.op.peer;
      const std::array<PartialRows, 2> both{is_lower ? own : theirs, is_lower ? theirs : own};
      merge(PartialForm::unnormalised, wide(step.target), both);
    } else {
      narrow(wide(step.slot));
    }
  }

  // A merge of one is a conversion that keeps the rules: the payload of an empty row is not read.
  void merge(PartialForm form, const PartialRows& target, std::span<const PartialRows> sources) {
    merge_rows({form, base_}, dim_, target, sources, 0, rows_, scratch_);
  }

  void widen(const PartialRows& target) {
    merge(form_, target, {&partial_, 1});
    for (std::int64_t row = 0; row < rows_ && form_ == PartialForm::normalised; ++row) {
      float* const pair = target.statistic + row * target.statistic_stride;
      pair[1] = pair[0] == kEmpty ? 0.0F : 1.0F;
    }
  }

  void narrow(const PartialRows& merged) {
    if (form_ == PartialForm::unnormalised) return merge(form_, result_, {&merged, 1});
    const PartialRows divided = wide(slots_[1]);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* const pair = merged.statistic + row * merged.statistic_stride;
      const auto* const from = reinterpret_cast<const float*>(merged.out) + row * dim_;
      auto* const to = reinterpret_cast<float*>(divided.out) + row * dim_;
      const bool is_empty = pair[0] == kEmpty;
      divided.statistic[row * divided.statistic_stride] =
          is_empty ? kEmpty : pair[0] + (base_ == LogBase::e ? std::log(pair[1]) : std::log2(pair[1]));
      std::transform(from, from + dim_, to, [&](float sum) { return is_empty ? 0.0F : sum / pair[1]; });
    }
    merge(form_, result_, {&divided, 1});
  }

  Channel& channel_;
  static constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  PartialForm form_;
  LogBase base_;
  std::int64_t dim_;
  std::int64_t rows_;
  PartialRows partial_;
  PartialRows result_;
  std::vector<ArenaBlock> blocks_;
  std::vector<std::byte*> slots_;
  MergeScratch scratch_{2};
};

}  // namespace

Result<std::shared_ptr<Runnable>> make_softmax_pairs(Channel& channel, const SoftmaxCall& call,
                                                     const Descriptor& common) {
  RINGCOMM_TRY_ASSIGN(auto slice, plan::softmax_slice(call.rule, channel.rank()));
  auto made = std::make_shared<SoftmaxPairs>(channel, call);
  RINGCOMM_TRY(made->allocate(std::move(slice), common));
  return std::shared_ptr<Runnable>(std::move(made));
}

}  // namespace ringcomm::inline v0::collectives
