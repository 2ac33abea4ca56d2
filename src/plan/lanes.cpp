// SPDX-License-Identifier: Apache-2.0
#include "plan/lanes.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

/// The first operation that has no counterpart, when two sides differ in length.
OpRef unmet(const std::vector<OpRef>& a, const std::vector<OpRef>& b) {
  return a.size() > b.size() ? a[b.size()] : b[a.size()];
}

}  // namespace

Lanes::Lanes(std::span<const RankPlan> slices) : slices_(slices), lanes_(slices.size() * slices.size()) {
  for (const RankPlan& slice : slices) {
    for (std::size_t index = 0; index < slice.ops.size(); ++index)
      add({slice.rank, static_cast<std::int32_t>(index)});
  }
}

void Lanes::add(OpRef ref) {
  const Op& op = op_at(slices_, ref);
  switch (op.kind) {
    case OpKind::offer:
    case OpKind::send:
      lanes_[index_of(ref.rank, op.peer)].out.push_back(ref);
      break;
    case OpKind::take:
    case OpKind::pull:
    case OpKind::recv:
      lanes_[index_of(op.peer, ref.rank)].in.push_back(ref);
      break;
    case OpKind::release:
      lanes_[index_of(op.peer, ref.rank)].releases.push_back(ref);
      break;
    case OpKind::reclaim:
      lanes_[index_of(ref.rank, op.peer)].reclaims.push_back(ref);
      break;
    case OpKind::compute:
      break;
  }
}

Status Lanes::check() const {
  for (const Lane& lane : lanes_) {
    RINGCOMM_TRY(check_data(lane));
    RINGCOMM_TRY(check_acknowledgements(lane));
  }
  return {};
}

Status Lanes::compare(OpRef a, OpRef b) const {
  const Op& x = op_at(slices_, a);
  const Op& y = op_at(slices_, b);
  const auto differ = [&](std::string_view what, const auto& mine, const auto& theirs) {
    return Status::mismatch(concat(describe(slices_, a), " meets ", describe(slices_, b), ": ", what,
                                   " differs, ", mine, " against ", theirs));
  };
  if (x.bytes != y.bytes) return differ("size in bytes", x.bytes, y.bytes);
  if (x.block != y.block) return differ("block", x.block, y.block);
  if (x.step != y.step) return differ("step", x.step, y.step);
  return {};
}

Status Lanes::check_data(const Lane& lane) const {
  for (std::size_t k = 0; k < std::min(lane.out.size(), lane.in.size()); ++k) {
    const OpKind out = op_at(slices_, lane.out[k]).kind;
    const OpKind in = op_at(slices_, lane.in[k]).kind;
    if ((out == OpKind::send) != (in == OpKind::recv)) {
      return Status::mismatch(concat(describe(slices_, lane.out[k]), " meets ", describe(slices_, lane.in[k]),
                                     " (send needs recv, offer needs take or pull)"));
    }
    if (out != op_at(slices_, lane.out.front()).kind) {
      return Status::mismatch(
          concat(describe(slices_, lane.out[k]), ": the lane mixes sends and offers (one access per pair)"));
    }
    RINGCOMM_TRY(compare(lane.out[k], lane.in[k]));
  }
  if (lane.out.size() == lane.in.size()) return {};
  return Status::mismatch(
      concat(describe(slices_, unmet(lane.out, lane.in)), " has no counterpart on its peer"));
}

Status Lanes::check_acknowledgements(const Lane& lane) const {
  const bool is_message_lane = !lane.out.empty() && op_at(slices_, lane.out.front()).kind == OpKind::send;
  static const std::vector<OpRef> no_offers;
  const std::vector<OpRef>& offers = is_message_lane ? no_offers : lane.out;
  const std::vector<OpRef>& reads = is_message_lane ? no_offers : lane.in;
  for (std::size_t k = 0; k < std::min(offers.size(), lane.releases.size()); ++k) {
    RINGCOMM_TRY(compare(reads[k], lane.releases[k]));
    if (lane.releases[k].index < reads[k].index) {
      return Status::invalid_argument(concat(describe(slices_, lane.releases[k]), " comes before ",
                                             describe(slices_, reads[k]), ", which it acknowledges"));
    }
  }
  for (std::size_t k = 0; k < std::min(offers.size(), lane.reclaims.size()); ++k)
    RINGCOMM_TRY(compare(offers[k], lane.reclaims[k]));
  const auto unbalanced = [&](const std::vector<OpRef>& side) {
    const OpRef ref = unmet(offers, side);
    return Status::invalid_argument(concat(describe(slices_, ref), side.size() > offers.size()
                                                                       ? " acknowledges nothing (left over)"
                                                                       : " is never acknowledged"));
  };
  if (lane.releases.size() != offers.size()) return unbalanced(lane.releases);
  if (lane.reclaims.size() != offers.size()) return unbalanced(lane.reclaims);
  return {};
}

}  // namespace ringcomm::inline v0::plan
