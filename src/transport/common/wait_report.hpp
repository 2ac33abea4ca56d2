// SPDX-License-Identifier: Apache-2.0
// What a rank says when its wait has come to the deadline: who is missing, where it is, who waits for whom.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ringcomm/core/descriptor.hpp"

namespace ringcomm::inline v0::transport {

/// What the waiting rank knows of a member of the channel.
struct MemberState {
  int rank = 0;              ///< the communicator's
  Descriptor entered{};      ///< OpCode::none: nothing yet
  std::uint32_t awaits = 0;  ///< 1 + position of the member that it waits for; 0 while it runs
};

struct WaitFacts {
  std::span<const MemberState> members;
  std::size_t own = 0;             ///< position of the rank that waits
  std::size_t awaited = 0;         ///< position of the member that it waits for
  bool has_announced = false;      ///< this rank has announced an operation on the channel
  const Descriptor* in = nullptr;  ///< the operation that the wait is part of
  std::string_view missing_act;    ///< " did not offer its block to rank "
  std::int64_t waited_ms = 0;
};

struct WaitReport {
  std::string text;
  int culprit = -1;  ///< the communicator's rank
};

/// Follows the chain "rank 1 waits for rank 0, rank 0 waits for rank 3" to its end.
WaitReport explain_wait(const WaitFacts& facts);

/// "barrier #7 step 0".
std::string place_and_step(const Descriptor& d);

}  // namespace ringcomm::inline v0::transport
