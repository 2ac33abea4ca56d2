// SPDX-License-Identifier: Apache-2.0
#include "transport/common/channel_key.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport {

Status check_channel_key(const ChannelKey& key, int rank, int size) {
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (const int member : key.members) {
    if (member < 0 || member >= size) {
      return Status::invalid_argument(
          concat("channel member ", member, " is no rank (there are ranks 0 to ", size - 1, ")"));
    }
    if (seen[static_cast<std::size_t>(member)])
      return Status::invalid_argument(
          concat("rank ", member, " is listed twice among the channel's members"));
    seen[static_cast<std::size_t>(member)] = true;
  }
  if (!seen[static_cast<std::size_t>(rank)])
    return Status::invalid_argument(
        concat("rank ", rank, " is not among the members of the channel that it opens"));
  return {};
}

std::uint64_t hash_of(const ChannelKey& key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto mix = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((value >> (8 * byte)) & 0xffU)) * 0x100000001b3U;
  };
  mix(key.members.size());
  for (const int member : key.members) mix(static_cast<std::uint64_t>(member));
  mix(key.ordinal);
  return hash;
}

}  // namespace ringcomm::inline v0::transport
