// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/packet.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "bootstrap/unix_socket.hpp"

namespace ringcomm::inline v0::bootstrap {

std::vector<std::byte> pack(const PacketHeader& header, std::span<const std::byte> payload) {
  std::vector<std::byte> packet(sizeof(header) + payload.size());
  std::memcpy(packet.data(), &header, sizeof(header));
  if (!payload.empty()) std::memcpy(packet.data() + sizeof(header), payload.data(), payload.size());
  return packet;
}

std::optional<PacketHeader> unpack(std::span<const std::byte> packet) {
  PacketHeader header;
  if (packet.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, packet.data(), sizeof(header));
  if (header.magic != kPacketMagic) return std::nullopt;
  return header;
}

std::vector<std::byte> pack_reason(const Status& reason) {
  PacketHeader header;
  header.kind = PacketKind::gave_up;
  header.code = static_cast<std::uint16_t>(reason.code());
  const std::string_view text = reason.message().substr(0, kReasonBytesMax);
  return pack(header, std::as_bytes(std::span(text)));
}

Status unpack_reason(const PacketHeader& header, std::span<const std::byte> payload, std::string_view who) {
  std::string text(who);
  text += " gave up: ";
  for (const std::byte b : payload.first(std::min(payload.size(), kReasonBytesMax))) {
    const char c = static_cast<char>(b);
    text += c >= ' ' && c != 127 ? c : ' ';
  }
  const bool is_known = header.code > 0 && header.code <= static_cast<std::uint16_t>(StatusCode::internal);
  return {is_known ? static_cast<StatusCode>(header.code) : StatusCode::aborted, std::move(text)};
}

Status hear_goodbye(int socket, std::string_view who, bool& is_closed) {
  std::array<std::byte, sizeof(PacketHeader) + kReasonBytesMax> buffer{};
  const ssize_t got = ::recv(socket, buffer.data(), sizeof(PacketHeader), MSG_PEEK | MSG_DONTWAIT);
  is_closed = got == 0;
  if (got <= 0) return {};
  const auto header = unpack(std::span(buffer).first(static_cast<std::size_t>(got)));
  if (!header || header->kind != PacketKind::gave_up) return {};
  const std::size_t bytes = receive_packet(socket, buffer).bytes;
  if (bytes < sizeof(PacketHeader)) return {};
  return unpack_reason(*header, std::span(buffer).first(bytes).subspan(sizeof(PacketHeader)), who);
}

}  // namespace ringcomm::inline v0::bootstrap
