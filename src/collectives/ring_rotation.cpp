// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/collectives/ring_rotation.hpp"

#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/pack.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/rotation_blocks.hpp"
#include "collectives/rotation_walk.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/call_site.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

Result<plan::RotationRule> rotation_rule(const Channel& channel, const RotationBlocks& blocks,
                                         const RotationOptions& options) {
  const bool reads_directly = channel.capabilities().direct_read;
  if (options.mode == RotationChoice::direct && !reads_directly) {
    return Status::not_available(
        "ring rotation: mode direct needs a transport that reads peers' memory in place (take relay)");
  }
  const bool is_direct =
      options.mode == RotationChoice::direct ||
      (options.mode == RotationChoice::automatic && reads_directly && !channel.prefers_relay());
  const std::size_t chunk_bytes =
      options.chunk_bytes == 0 ? channel.options().chunk_bytes : options.chunk_bytes;
  // An order that a caller gives is taken as it is; the rule refuses what is no permutation.
  return plan::RotationRule{.ranks = channel.size(),
                            .access = reads_directly ? plan::Access::direct_read : plan::Access::two_sided,
                            .mode = is_direct ? plan::RotationMode::direct : plan::RotationMode::relay,
                            .overlap = options.overlap,
                            .direction = options.direction,
                            .order = options.order.empty() ? channel.ring_order() : options.order,
                            .block_bytes = blocks.all_bytes(),
                            .chunk_bytes = is_direct ? 0 : chunk_bytes,
                            .needed = options.needed};
}

/// What ranks have to agree on beside the sizes, which travel as bytes with every block.
std::uint64_t rotation_signature(const plan::RotationRule& rule, const RotationBlocks& blocks,
                                 const RotationOptions& options) {
  plan::Fnv fnv;
  fnv.add(rule.ranks)
      .add(rule.access)
      .add(rule.mode)
      .add(rule.direction)
      .add(rule.order)
      .add(rule.chunk_bytes);
  fnv.add(rule.needed.size());
  for (const std::uint8_t flag : rule.needed) fnv.add(flag != 0);
  fnv.add(blocks.heads).add(blocks.k_dim).add(blocks.v_dim).add(options.signature);
  return fnv.value();
}

plan::Coverage coverage_of(const plan::RotationRule& rule) {
  plan::Coverage coverage = all_blocks(rule.ranks);
  if (!rule.needed.empty()) coverage.consumed = rule.needed;
  for (std::uint8_t& flag : coverage.consumed) flag = flag != 0 ? 1 : 0;
  return coverage;
}

}  // namespace
}  // namespace collectives

struct RingRotation::Impl {
  Impl(Channel& c, const TensorView& k_view, const TensorView& v_view, collectives::RotationBlocks b)
      : channel(c), k(k_view), v(v_view), blocks(std::move(b)) {}

  Channel& channel;
  TensorView k, v;
  collectives::RotationBlocks blocks;
  plan::RotationMode mode = plan::RotationMode::direct;
  Descriptor common;
  std::chrono::milliseconds deadline{0};
  ArenaBlock packed;  ///< empty when the own block is read where it lies
  std::array<ArenaBlock, 2> slots;
  std::optional<collectives::RotationWalk> walk;

  std::optional<OperationScope> scope;  ///< engaged while a rotation runs
  bool is_entered = false;
  Status status;
  std::vector<RotationPart> parts;  ///< by owner; next() fills in the addresses

  bool is_in_place() const {
    const auto* first = static_cast<const std::byte*>(k.data);
    return k.is_contiguous() && v.is_contiguous() && v.data == first + k.bytes() &&
           channel.is_offerable(k.data, k.bytes() + v.bytes());
  }

  Status lower_slice(plan::RankPlan slice) {
    std::byte* own = static_cast<std::byte*>(k.data);
    const std::uint64_t own_bytes = blocks.bytes(channel.rank());
    if (own_bytes > 0 && !is_in_place()) {
      RINGCOMM_TRY_ASSIGN(packed, channel.allocate(own_bytes));
      own = packed.data();
    }
    std::vector<std::byte*> addresses{own};
    for (std::size_t slot = 1; slot < slice.slots.size(); ++slot) {
      RINGCOMM_TRY_ASSIGN(slots[slot - 1], channel.allocate(slice.slots[slot].bytes));
      addresses.push_back(slots[slot - 1].data());
    }
    for (int rank = 0; rank < channel.size(); ++rank) parts.push_back(blocks.part(rank));
    RINGCOMM_TRY_ASSIGN(auto program, collectives::lower(std::move(slice), addresses, common));
    channel.keep_plan(common.signature, program.slice);
    walk.emplace(channel, std::move(program));
    return walk->prepare();
  }

  void pack_own_block() {
    if (packed.data() == nullptr) return;
    collectives::pack(k, packed.data());
    collectives::pack(v, packed.data() + blocks.k_bytes(channel.rank()));
    channel.count_packed(blocks.bytes(channel.rank()));
  }

  void fail(Status reason) {
    status = channel.fail(std::move(reason));
    walk->drain();
    end(status.code());
  }

  void end(StatusCode code) {
    if (std::exchange(is_entered, false)) channel.leave(scope->descriptor(), code);
    scope.reset();
  }
};

namespace {

Status build(Channel& channel, const RotationOptions& options, const plan::RotationRule& rule,
             plan::RankPlan& slice) {
  RINGCOMM_TRY(collectives::check_plan(
      rule.ranks, [&](int rank) { return plan::rotation_slice(rule, rank); },
      collectives::coverage_of(rule)));
  RINGCOMM_TRY_ASSIGN(slice, plan::rotation_slice(rule, channel.rank()));
  slice.op = options.op;
  return {};
}

}  // namespace

Result<RingRotation> RingRotation::create(Channel& channel, const TensorView& k, const TensorView& v,
                                          const RotationOptions& options) {
  return comm::guard("ring rotation", [&]() -> Result<RingRotation> {
    RINGCOMM_TRY_ASSIGN(auto blocks, collectives::check_blocks(channel, k, v, options));
    RINGCOMM_TRY_ASSIGN(const auto rule, collectives::rotation_rule(channel, blocks, options));
    plan::RankPlan slice;
    RINGCOMM_TRY(build(channel, options, rule, slice));
    auto impl = std::make_unique<Impl>(channel, k, v, std::move(blocks));
    impl->mode = rule.mode;
    impl->deadline = options.deadline;
    impl->common.op = options.op;
    impl->common.dtype = k.dtype;
    impl->common.bytes = impl->blocks.row_bytes();
    impl->common.signature = collectives::rotation_signature(rule, impl->blocks, options);
    RINGCOMM_TRY(collectives::prepared_or_failed(channel, impl->lower_slice(std::move(slice))));
    return RingRotation(std::move(impl));
  });
}

RingRotation::RingRotation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RingRotation::RingRotation(RingRotation&&) noexcept = default;

RingRotation& RingRotation::operator=(RingRotation&& other) noexcept {
  RingRotation moved(std::move(other));
  std::swap(impl_, moved.impl_);
  return *this;
}

// Peers wait for the rest of a rotation that is given up half way; they are told instead.
RingRotation::~RingRotation() {
  if (impl_ && impl_->scope) {
    const std::string_view how = std::uncaught_exceptions() > 0
                                     ? " raised an exception and left its ring rotation before the last step"
                                     : " destroyed its ring rotation before the last step";
    impl_->fail(Status::aborted(concat("rank ", impl_->channel.member(impl_->channel.rank()), how)));
  }
}

Status RingRotation::start() {
  Impl& self = *impl_;
  if (self.scope)
    return Status::invalid_argument("ring rotation: start() before the last rotation has ended");
  auto begun = self.channel.begin(self.common.op, self.common.dtype, self.common.reduce_op,
                                  self.common.signature, self.deadline, Announce::later);
  self.status = begun.status();
  RINGCOMM_TRY(begun.status());
  self.scope.emplace(std::move(begun).value());
  Status settled = collectives::ChannelState::of(self.channel).settle({}, self.scope->deadline());
  if (settled.is_ok()) {
    Descriptor entered = self.scope->descriptor();
    entered.bytes = self.common.bytes;
    self.channel.enter(entered, self.scope->deadline(), CallSite::current());
    self.is_entered = true;
    self.pack_own_block();
    settled = self.walk->start(*self.scope);
  }
  if (!settled.is_ok()) self.fail(std::move(settled));
  return self.status;
}

RotationStep RingRotation::next() {
  Impl& self = *impl_;
  if (!self.scope) return {};
  const collectives::Compute* const at = self.walk->next(self.status);
  if (at == nullptr) {
    if (self.status.is_ok()) {
      self.end(StatusCode::ok);
    } else {
      self.fail(self.status);
    }
    return {};
  }
  auto& part = self.parts[static_cast<std::size_t>(at->op.block)];
  // A view carries one pointer type; a part is for reading (its documentation says so).
  auto* const block = const_cast<std::byte*>(at->view != nullptr ? at->view->data : at->slot);
  part.k.data = block;
  part.v.data = block == nullptr ? nullptr : block + self.blocks.k_bytes(at->op.block);
  RotationStep step;
  step.rotation_ = this;
  step.index_ = at->op.step;
  step.parts_ = std::span(&part, 1);
  return step;
}

const Status& RingRotation::status() const { return impl_->status; }
const plan::RankPlan& RingRotation::slice() const { return impl_->walk->program().slice; }
plan::RotationMode RingRotation::mode() const { return impl_->mode; }

RotationStep::RotationStep(RotationStep&& other) noexcept
    : rotation_(std::exchange(other.rotation_, nullptr)),
      index_(other.index_),
      parts_(std::exchange(other.parts_, {})) {}

RotationStep& RotationStep::operator=(RotationStep&& other) noexcept {
  rotation_ = std::exchange(other.rotation_, nullptr);
  index_ = other.index_;
  parts_ = std::exchange(other.parts_, {});
  return *this;
}

// next() gives the block back together with taking the next one, in one call of the transport.
RotationStep::~RotationStep() = default;

void RotationStep::release() {
  if (rotation_ != nullptr && rotation_->impl_->scope) rotation_->impl_->walk->give_back();
  rotation_ = nullptr;
  parts_ = {};
}

}  // namespace ringcomm::inline v0
