// SPDX-License-Identifier: Apache-2.0
#include "transport/common/control_layout.hpp"

#include <algorithm>
#include <bit>

namespace ringcomm::inline v0::transport {

std::size_t control_segment_bytes(int ranks) {
  constexpr std::size_t kChannelsWanted = 256;
  constexpr std::size_t kChannelsLeast = 8;
  constexpr std::size_t kBytesMax = std::size_t{16} << 20;
  constexpr std::size_t kPage = 4096;
  const std::size_t channel = channel_block_bytes(ranks);
  const std::size_t wanted = std::min(kChannelsWanted * channel, kBytesMax);
  const std::size_t bytes = sizeof(ControlHeader) + std::max(wanted, kChannelsLeast * channel);
  return (bytes + kPage - 1) / kPage * kPage;
}

void write_shared(SharedDescriptor& target, const Descriptor& value) {
  target.write(std::bit_cast<std::array<std::uint64_t, 4>>(value));
}

bool try_read_shared(const SharedDescriptor& source, Descriptor& value) {
  std::array<std::uint64_t, 4> words{};
  const std::uint32_t version = source.version.load(std::memory_order_acquire);
  if (version % 2 != 0 || !source.read(version, words)) return false;
  value = std::bit_cast<Descriptor>(words);
  return true;
}

}  // namespace ringcomm::inline v0::transport
