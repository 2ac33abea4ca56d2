// SPDX-License-Identifier: Apache-2.0
// Puts the operations of a pipelined slice into an order that cannot deadlock.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::plan {

/// A point of the ring's virtual time. All ranks count rounds (one hop of every block) and chunks alike. If
/// on every rank operations run in this order, and whatever an operation waits for on another rank lies
/// strictly earlier, then no wait can close a cycle, for any sizes.
struct Moment {
  std::int32_t round = 0;
  std::uint64_t chunk = 0;
  enum Phase : std::uint8_t { reclaims, moves, releases, offers, computes } phase = reclaims;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the compiler's own 0 for ours
  friend auto operator<=>(const Moment&, const Moment&) = default;
};
/// After every chunk of its round.
inline constexpr std::uint64_t kLastChunk = ~std::uint64_t{0};

class SliceBuilder {
 public:
  /// Returns a number for `Op::after` of other operations. Equal moments keep the order of the calls.
  std::int32_t add(Moment moment, const Op& op);
  /// The operations in order of their moments, `after` turned into list indices.
  std::vector<Op> ordered() const;

 private:
  struct Entry {
    Moment moment;
    Op op;
  };
  std::vector<Entry> entries_;
};

}  // namespace ringcomm::inline v0::plan
