// SPDX-License-Identifier: Apache-2.0
// Which bytes of its own rank's slots an operation reads and writes.
#pragma once

#include <cstdint>
#include <optional>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::plan {

struct SlotRange {
  std::int32_t slot = kNone;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Of offer, send, and a compute that reads a slot (its partials in other slots excepted, see merge).
std::optional<SlotRange> local_read(const Op& op);
/// Of pull, recv, and a compute with a target.
std::optional<SlotRange> local_write(const Op& op);

}  // namespace ringcomm::inline v0::plan
