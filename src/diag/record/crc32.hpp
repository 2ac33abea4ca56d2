// SPDX-License-Identifier: Apache-2.0
// CRC-32 as in IEEE 802.3, zlib and Python's binascii.crc32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ringcomm::inline v0::diag {

inline constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t word = i;
    for (int bit = 0; bit < 8; ++bit) word = (word >> 1) ^ ((word & 1U) != 0 ? 0xedb88320U : 0U);
    table[i] = word;
  }
  return table;
}();

inline std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte byte : bytes)
    crc = kCrcTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU] ^ (crc >> 8);
  return ~crc;
}

}  // namespace ringcomm::inline v0::diag
