// SPDX-License-Identifier: Apache-2.0
// The packets that ranks of a SocketGroup exchange: outside bytes, so every field is checked when it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::bootstrap {

enum class PacketKind : std::uint16_t { greeting = 1, chunk = 2, gave_up = 3 };

inline constexpr std::uint32_t kPacketMagic = 0x52434731;  // "RCG1": another value means another version
inline constexpr std::size_t kChunkBytesMax = 32 * 1024;   // far below the smallest usual socket buffer
inline constexpr std::size_t kReasonBytesMax = 1024;

struct PacketHeader {
  std::uint32_t magic = kPacketMagic;
  PacketKind kind = PacketKind::greeting;
  std::uint16_t code = 0;      ///< gave_up: the StatusCode
  std::uint32_t sequence = 0;  ///< chunk: of the all_gather
  std::int32_t rank = 0;       ///< greeting
  std::int32_t size = 0;       ///< greeting
  std::uint32_t reserved = 0;
  std::uint64_t total = 0;   ///< chunk: bytes of the whole contribution
  std::uint64_t offset = 0;  ///< chunk: of this piece
};
static_assert(sizeof(PacketHeader) == 40);

std::vector<std::byte> pack(const PacketHeader& header, std::span<const std::byte> payload = {});
/// Nothing when the bytes are not one of our packets.
std::optional<PacketHeader> unpack(std::span<const std::byte> packet);

std::vector<std::byte> pack_reason(const Status& reason);
/// The peer's reason under its own code, if that is one; control characters become spaces.
Status unpack_reason(const PacketHeader& header, std::span<const std::byte> payload, std::string_view who);

/// Takes the next packet only if it tells why the peer gave up, and returns that; ok otherwise. For peers
/// from whom nothing is due: what else they have sent is left for later. `is_closed` says that they are gone.
Status hear_goodbye(int socket, std::string_view who, bool& is_closed);

}  // namespace ringcomm::inline v0::bootstrap
