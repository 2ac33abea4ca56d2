// SPDX-License-Identifier: Apache-2.0
// broadcast and all_to_all.
#include "ringcomm/collectives/exchange.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/staged_run.hpp"
#include "collectives/tensor_checks.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

/// Copies what a consume names to its place, unless it is there already.
class ExchangeRun : public StagedRun {
 public:
  using StagedRun::readable;
  explicit ExchangeRun(Channel& channel) : StagedRun(channel) {
    compute = [](Runnable& self, const Compute& step) { static_cast<ExchangeRun&>(self).place(step); };
  }
  /// Of all_to_all: where the own part goes, whose consume has no target.
  std::byte* own_place = nullptr;

 private:
  void place(const Compute& step) const {
    if (step.op.bytes == 0) return;
    const std::byte* from = step.slot;
    std::byte* to = step.target == nullptr ? nullptr : step.target + step.op.offset;
    if (step.view != nullptr) {
      from = step.view->data;
    } else if (to == nullptr) {
      if (step.op.slot != 0) return;  // a message arrives in its place
      from = step.slot + step.op.offset;
      to = own_place;
    }
    if (from != to) std::memcpy(to, from, step.op.bytes);
  }
};

struct Broadcast {
  TensorView input;  ///< of the root; elsewhere empty
  TensorView output;
  int root = 0;
  bool is_input_readable = true;
};

Result<Broadcast> check_broadcast(const Channel& channel, const TensorView& input, const TensorView& output,
                                  int root) {
  constexpr std::string_view kWhat = "broadcast";
  Broadcast call{.input = TensorView::contiguous(nullptr, output.dtype, {0}), .output = output, .root = root};
  RINGCOMM_TRY(check_host(kWhat, "output", output));
  if (root != channel.rank()) {
    RINGCOMM_TRY(check_output(kWhat, call.input, output));
    return call;
  }
  RINGCOMM_TRY(check_host(kWhat, "input", input));
  RINGCOMM_TRY(check_output(kWhat, input, output));
  RINGCOMM_TRY(check_elements(kWhat, "output", output, input.element_count()));
  if (!input.is_contiguous() || input.data != output.data) RINGCOMM_TRY(check_apart(kWhat, input, output));
  call.input = input;
  call.is_input_readable = is_readable(channel, input);
  return call;
}

Result<std::shared_ptr<Runnable>> make_broadcast(Channel& channel, const Broadcast& call) {
  const plan::BroadcastRule rule{
      .ranks = channel.size(), .access = access_of(channel), .root = call.root, .bytes = call.output.bytes()};
  plan::Coverage coverage;
  for (int pair = 0; pair < rule.ranks * rule.ranks; ++pair)
    coverage.consumed.push_back(pair % rule.ranks == rule.root ? 1 : 0);
  RINGCOMM_TRY(check_plan(
      rule.ranks, [&](int rank) { return plan::broadcast_slice(rule, rank); }, coverage));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::broadcast_slice(rule, channel.rank()));
  auto made = std::make_shared<ExchangeRun>(channel);
  RINGCOMM_TRY_ASSIGN(std::byte* const own, made->readable(call.input));
  made->common.op = OpCode::broadcast;
  made->common.dtype = call.output.dtype;
  made->common.bytes = rule.bytes;
  made->common.block = rule.root;  // announced, so that ranks with different roots hear their numbers
  made->common.signature = plan::Fnv().add(OpCode::broadcast).add(rule.ranks).add(rule.access).value();
  const std::array<std::byte*, 2> slots{own, static_cast<std::byte*>(call.output.data)};
  RINGCOMM_TRY_ASSIGN(made->program, lower(std::move(slice), slots, made->common));
  return std::shared_ptr<Runnable>(std::move(made));
}

struct AllToAll {
  TensorView input;
  TensorView output;
  std::vector<std::int64_t> counts;  ///< to each member, then from each member
  bool is_uniform = false;           ///< the same number between any two
  bool is_input_readable = false;

  std::uint64_t bytes_at(std::size_t index) const {
    return static_cast<std::uint64_t>(counts[index]) * bytes_of(input.dtype);
  }
};

/// `counts`, or an equal part of `view` for each member.
Status append_counts(const Channel& channel, std::string_view name, const TensorView& view,
                     std::span<const std::int64_t> counts, std::vector<std::int64_t>& list) {
  constexpr std::string_view kWhat = "all_to_all";
  if (counts.empty()) {
    const std::int64_t part = view.element_count() / channel.size();
    RINGCOMM_TRY(
        check_elements(kWhat, name == "send_counts" ? "input" : "output", view, part * channel.size()));
    list.insert(list.end(), static_cast<std::size_t>(channel.size()), part);
    return {};
  }
  RINGCOMM_TRY_ASSIGN(const std::int64_t sum, sum_of(kWhat, name, counts, channel.size(), view.dtype));
  RINGCOMM_TRY(check_elements(kWhat, name == "send_counts" ? "input" : "output", view, sum));
  list.insert(list.end(), counts.begin(), counts.end());
  return {};
}

Result<AllToAll> check_all_to_all(const Channel& channel, const TensorView& input, const TensorView& output,
                                  std::span<const std::int64_t> send_counts,
                                  std::span<const std::int64_t> receive_counts) {
  constexpr std::string_view kWhat = "all_to_all";
  AllToAll call{.input = input, .output = output, .counts = {}};
  RINGCOMM_TRY(check_host(kWhat, "input", input));
  RINGCOMM_TRY(check_host(kWhat, "output", output));
  RINGCOMM_TRY(check_output(kWhat, input, output));
  RINGCOMM_TRY(check_apart(kWhat, input, output));
  RINGCOMM_TRY(append_counts(channel, "send_counts", input, send_counts, call.counts));
  RINGCOMM_TRY(append_counts(channel, "receive_counts", output, receive_counts, call.counts));
  call.is_uniform = send_counts.empty() && receive_counts.empty();
  call.is_input_readable = is_readable(channel, input);
  return call;
}

/// Only with equal parts does this rank know what all others move.
Status check_uniform_plan(const plan::AllToAllRule& rule, std::uint64_t part) {
  plan::Coverage coverage = all_blocks(rule.ranks);
  for (int rank = 0; rank < rule.ranks; ++rank) {
    coverage.origins.insert(coverage.origins.end(), static_cast<std::size_t>(rule.ranks),
                            static_cast<std::uint64_t>(rank) * part);
    coverage.sizes.insert(coverage.sizes.end(), static_cast<std::size_t>(rule.ranks), part);
  }
  return check_plan(
      rule.ranks, [&](int rank) { return plan::all_to_all_slice(rule, rank); }, coverage);
}

Result<std::shared_ptr<Runnable>> make_all_to_all(Channel& channel, const AllToAll& call) {
  plan::AllToAllRule rule{.ranks = channel.size(), .access = access_of(channel)};
  const auto ranks = static_cast<std::size_t>(rule.ranks);
  const auto own = static_cast<std::size_t>(channel.rank());
  std::uint64_t place = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    rule.send_bytes.push_back(call.bytes_at(rank));
    rule.receive_bytes.push_back(call.bytes_at(ranks + rank));
    if (rank < own) place += rule.receive_bytes.back();
  }
  if (call.is_uniform && rule.send_bytes[own] == rule.receive_bytes[own])
    RINGCOMM_TRY(check_uniform_plan(rule, rule.send_bytes[own]));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::all_to_all_slice(rule, channel.rank()));
  auto made = std::make_shared<ExchangeRun>(channel);
  RINGCOMM_TRY_ASSIGN(std::byte* const input, made->readable(call.input));
  auto* const output = static_cast<std::byte*>(call.output.data);
  made->own_place = output == nullptr ? nullptr : output + place;
  made->common.op = OpCode::all_to_all;
  made->common.dtype = call.input.dtype;
  made->common.signature = plan::Fnv().add(OpCode::all_to_all).add(rule.ranks).add(rule.access).value();
  const std::array<std::byte*, 2> slots{input, output};
  RINGCOMM_TRY_ASSIGN(made->program, lower(std::move(slice), slots, made->common));
  return std::shared_ptr<Runnable>(std::move(made));
}

}  // namespace
}  // namespace collectives

Result<Work> broadcast(Channel& channel, const TensorView& input, const TensorView& output, int root,
                       const CallOptions& options) {
  return comm::guard("broadcast", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto call, collectives::check_broadcast(channel, input, output, root));
    auto& programs = collectives::ChannelState::of(channel).programs;
    const auto key = collectives::ProgramKey()
                         .add(static_cast<std::uint64_t>(OpCode::broadcast))
                         .add(static_cast<std::uint64_t>(call.root))
                         .add(static_cast<std::uint64_t>(call.is_input_readable))
                         .add(call.input)
                         .add(call.output);
    return collectives::launch_cached(channel, programs, key, {}, options,
                                      [&] { return collectives::make_broadcast(channel, call); });
  });
}

Result<Work> all_to_all(Channel& channel, const TensorView& input, const TensorView& output,
                        std::span<const std::int64_t> send_counts,
                        std::span<const std::int64_t> receive_counts, const CallOptions& options) {
  return comm::guard("all_to_all", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto call,
                        collectives::check_all_to_all(channel, input, output, send_counts, receive_counts));
    auto& programs = collectives::ChannelState::of(channel).programs;
    const auto key = collectives::ProgramKey()
                         .add(static_cast<std::uint64_t>(OpCode::all_to_all))
                         .add(static_cast<std::uint64_t>(call.is_uniform))
                         .add(static_cast<std::uint64_t>(call.is_input_readable))
                         .add(call.input)
                         .add(call.output);
    return collectives::launch_cached(channel, programs, key, call.counts, options,
                                      [&] { return collectives::make_all_to_all(channel, call); });
  });
}

}  // namespace ringcomm::inline v0
