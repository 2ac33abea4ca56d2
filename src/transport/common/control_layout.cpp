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

// Release on each word (instead of a fence, which the thread sanitizer does not understand) keeps the odd
// version before the words; acquire on each load keeps the second look at the version behind them.
void write_shared(SharedDescriptor& target, const Descriptor& value) {
  const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(value);
  const std::uint32_t version = target.version.load(std::memory_order_relaxed);
  target.version.store(version + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words.size(); ++i) target.words[i].store(words[i], std::memory_order_release);
  target.version.store(version + 2, std::memory_order_release);
}

bool try_read_shared(const SharedDescriptor& source, std::uint32_t version, Descriptor& value) {
  if (source.version.load(std::memory_order_acquire) != version) return false;
  std::array<std::uint64_t, 4> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = source.words[i].load(std::memory_order_acquire);
  if (source.version.load(std::memory_order_relaxed) != version) return false;
  value = std::bit_cast<Descriptor>(words);
  return true;
}

bool try_read_shared(const SharedDescriptor& source, Descriptor& value) {
  const std::uint32_t version = source.version.load(std::memory_order_acquire);
  return version % 2 == 0 && try_read_shared(source, version, value);
}

}  // namespace ringcomm::inline v0::transport
