// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/collectives/basic.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/memory_range.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/staged_run.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

Result<std::shared_ptr<Runnable>> make_barrier(Channel& channel) {
  const plan::BarrierRule rule{.ranks = channel.size(), .access = access_of(channel)};
  RINGCOMM_TRY(check_plan(rule.ranks, [&](int rank) { return plan::barrier_slice(rule, rank); }));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::barrier_slice(rule, channel.rank()));
  auto made = std::make_shared<Runnable>();
  made->common.op = OpCode::barrier;
  made->common.signature = slice.signature;
  const std::vector<std::byte*> slots(slice.slots.size(), nullptr);
  RINGCOMM_TRY_ASSIGN(made->program, lower(std::move(slice), slots, made->common));
  return std::shared_ptr<Runnable>(std::move(made));
}

struct Gather {
  TensorView input;
  std::byte* output = nullptr;
  std::vector<std::int64_t> counts;
  std::int64_t first = 0;    ///< element of the own block in the output
  bool is_in_place = false;  ///< the input is that very place
  bool is_readable = false;  ///< by peers, where it lies

  std::uint64_t bytes_of_block(std::size_t rank) const {
    return static_cast<std::uint64_t>(counts[rank]) * bytes_of(input.dtype);
  }
};

class GatherRun : public StagedRun {
 public:
  using StagedRun::readable;
  using StagedRun::StagedRun;

  static void place(Runnable& /*self*/, const Compute& step) {
    const std::byte* source = step.view != nullptr ? step.view->data : step.slot;
    if (step.op.bytes == 0 || step.target == nullptr) return;  // a message arrives in its place
    std::byte* const target = step.target + step.op.offset;
    if (source != target) std::memcpy(target, source, step.op.bytes);
  }
};

Status check_counts(const Channel& channel, const TensorView& input, std::span<const std::int64_t> counts) {
  if (!counts.empty() && counts.size() != static_cast<std::size_t>(channel.size())) {
    return Status::invalid_argument(
        concat("all_gather: ", counts.size(), " counts for ", channel.size(), " ranks"));
  }
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] >= 0) continue;
    return Status::invalid_argument(
        concat("all_gather: count of rank ", rank, " is ", counts[rank], " (negative)"));
  }
  const std::int64_t own =
      counts.empty() ? input.element_count() : counts[static_cast<std::size_t>(channel.rank())];
  if (input.element_count() == own) return {};
  return Status::invalid_argument(concat("all_gather: input of rank ", channel.rank(), " has ",
                                         input.element_count(), " elements, its count is ", own));
}

/// All later arithmetic on counts stays within this sum, in bytes.
Status check_sum(const Gather& gather) {
  std::int64_t sum = 0;
  std::int64_t bytes = 0;
  for (const std::int64_t count : gather.counts) {
    if (__builtin_add_overflow(sum, count, &sum) ||
        __builtin_mul_overflow(sum, static_cast<std::int64_t>(bytes_of(gather.input.dtype)), &bytes))
      return Status::invalid_argument("all_gather: the sum of the counts does not fit 63 bits");
  }
  return {};
}

Status check_output(const Gather& gather, const TensorView& output) {
  if (output.dtype != gather.input.dtype) {
    return Status::invalid_argument(
        concat("all_gather: output is ", name_of(output.dtype), ", input is ", name_of(gather.input.dtype)));
  }
  if (!output.is_contiguous()) return Status::invalid_argument("all_gather: output is not contiguous");
  const std::int64_t total = std::accumulate(gather.counts.begin(), gather.counts.end(), std::int64_t{0});
  if (output.element_count() != total) {
    return Status::invalid_argument(
        concat("all_gather: output has ", output.element_count(), " elements, the counts sum to ", total));
  }
  if (!gather.is_in_place && range_of(gather.input).overlaps(range_of(output))) {
    return Status::invalid_argument(
        "all_gather: input overlaps output without being the input's own place in it");
  }
  return {};
}

Result<Gather> check_gather(const Channel& channel, const TensorView& input, const TensorView& output,
                            std::span<const std::int64_t> counts) {
  RINGCOMM_TRY(validate(input, "all_gather: input"));
  RINGCOMM_TRY(validate(output, "all_gather: output"));
  RINGCOMM_TRY(check_counts(channel, input, counts));
  if (input.device.kind != DeviceKind::host || output.device.kind != DeviceKind::host)
    return Status::not_available("all_gather: input or output is not in host memory");
  Gather gather{.input = input, .output = static_cast<std::byte*>(output.data), .counts = {}};
  gather.counts.assign(counts.begin(), counts.end());
  if (counts.empty()) gather.counts.assign(static_cast<std::size_t>(channel.size()), input.element_count());
  RINGCOMM_TRY(check_sum(gather));
  for (int rank = 0; rank < channel.rank(); ++rank)
    gather.first += gather.counts[static_cast<std::size_t>(rank)];
  const auto element = static_cast<std::int64_t>(bytes_of(input.dtype));
  gather.is_in_place =
      input.is_contiguous() && input.data != nullptr && input.data == gather.output + gather.first * element;
  gather.is_readable = is_readable(channel, input);
  RINGCOMM_TRY(check_output(gather, output));
  return gather;
}

Result<std::shared_ptr<Runnable>> make_gather(Channel& channel, const Gather& gather) {
  plan::AllGatherRule rule{.ranks = channel.size(), .access = access_of(channel), .block_bytes = {}};
  for (std::size_t rank = 0; rank < gather.counts.size(); ++rank)
    rule.block_bytes.push_back(gather.bytes_of_block(rank));
  RINGCOMM_TRY(check_plan(
      rule.ranks, [&](int rank) { return plan::all_gather_slice(rule, rank); }, all_blocks(rule.ranks)));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::all_gather_slice(rule, channel.rank()));
  auto made = std::make_shared<GatherRun>(channel);
  RINGCOMM_TRY_ASSIGN(std::byte* const own, made->readable(gather.input));
  made->common.op = OpCode::all_gather;
  made->common.dtype = gather.input.dtype;
  // Sizes travel as bytes with every block, so that a difference is named in numbers.
  made->common.signature = plan::Fnv().add(OpCode::all_gather).add(rule.ranks).add(rule.access).value();
  made->compute = GatherRun::place;
  const std::array<std::byte*, 2> slots{own, gather.output};
  RINGCOMM_TRY_ASSIGN(made->program, lower(std::move(slice), slots, made->common));
  return std::shared_ptr<Runnable>(std::move(made));
}

}  // namespace
}  // namespace collectives

Result<Work> barrier(Channel& channel, const CallOptions& options) {
  return comm::guard("barrier", [&]() -> Result<Work> {
    auto& programs = collectives::ChannelState::of(channel).programs;
    const auto key = collectives::ProgramKey().add(static_cast<std::uint64_t>(OpCode::barrier));
    return collectives::launch_cached(channel, programs, key, {}, options,
                                      [&] { return collectives::make_barrier(channel); });
  });
}

Result<Work> all_gather(Channel& channel, const TensorView& input, const TensorView& output,
                        std::span<const std::int64_t> counts, const CallOptions& options) {
  return comm::guard("all_gather", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto gather, collectives::check_gather(channel, input, output, counts));
    auto& programs = collectives::ChannelState::of(channel).programs;
    const auto key = collectives::ProgramKey()
                         .add(static_cast<std::uint64_t>(OpCode::all_gather))
                         .add(static_cast<std::uint64_t>(gather.is_readable))
                         .add(input)
                         .add(output);
    return collectives::launch_cached(channel, programs, key, gather.counts, options,
                                      [&] { return collectives::make_gather(channel, gather); });
  });
}

}  // namespace ringcomm::inline v0
