// SPDX-License-Identifier: Apache-2.0
// Which member lists make a channel, and the short form of a key.
#pragma once

#include <cstdint>

#include "ringcomm/core/status.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::transport {

/// ok, or invalid_argument: a member that is no rank, a rank listed twice, the own rank missing.
Status check_channel_key(const ChannelKey& key, int rank, int size);

/// FNV-1a of members and ordinal.
std::uint64_t hash_of(const ChannelKey& key);

}  // namespace ringcomm::inline v0::transport
