// SPDX-License-Identifier: Apache-2.0
// A small all-gather for comm itself, which stands below the collectives.
#pragma once

#include <cstddef>
#include <span>

#include "ringcomm/comm/channel.hpp"

namespace ringcomm::inline v0::comm {

/// Everybody's `mine` (as many bytes on all members) in member order into `all` [size * mine.size()]. One
/// operation of `channel`; its failure is the communicator's.
Status gather_bytes(Channel& channel, std::span<const std::byte> mine, std::span<std::byte> all,
                    Deadline deadline);

}  // namespace ringcomm::inline v0::comm
