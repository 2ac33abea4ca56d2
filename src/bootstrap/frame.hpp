// SPDX-License-Identifier: Apache-2.0
// Frames on a TCP connection of a meeting: outside bytes, so a reader has a limit and checks each byte as it
// comes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::bootstrap {

inline constexpr int kGroupRanksMax = 1024;
inline constexpr std::size_t kContributionBytesMax = std::size_t{1} << 20;

enum class FrameKind : std::uint16_t {
  banner = 1,    ///< hub: its nonce
  hello,         ///< rank: who it is, and its proof of the secret
  admitted,      ///< hub: its own proof
  welcome,       ///< hub: the roster; all have met
  contribution,  ///< rank: its part of an all_gather
  gathered,      ///< hub: everybody's
  give_up,       ///< rank: its deadline has passed after `sequence` milliseconds; the hub says who is missing
  reason,        ///< hub: why the meeting failed
};

struct FrameHeader {
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::banner;
  std::uint16_t code = 0;  ///< reason: the StatusCode
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;  ///< of the payload that follows

  static constexpr std::uint32_t kMagic = 0x31544352;  // "RCT1": another last digit is another version
};
static_assert(sizeof(FrameHeader) == 16);

using Bytes = std::vector<std::byte>;
std::shared_ptr<const Bytes> make_frame(FrameHeader header, std::span<const std::byte> payload);
std::shared_ptr<const Bytes> reason_frame(const Status& reason);
/// The sentence under its own code if that is one; control characters become spaces.
Status read_reason(const FrameHeader& header, std::span<const std::byte> payload);

/// Puts one frame together from pieces. Memory grows with what came, never with what was announced.
class FrameReader {
 public:
  enum class Fault : std::uint8_t { none, magic, version, length };

  explicit FrameReader(std::size_t payload_max) : payload_max_(payload_max) {}
  /// Takes from the front, to the frame's end at most; returns how many. Nothing after a fault.
  std::size_t feed(std::span<const std::byte> bytes);
  /// Reads from a non-blocking socket. done: is_complete(); failed: there is a fault, or the system said no.
  IoState receive(int socket);
  bool is_complete() const;
  Fault fault() const { return fault_; }
  /// What came first, for telling strangers apart: at most a header's worth.
  std::span<const std::byte> beginning() const { return std::span(head_).first(head_bytes_); }
  const FrameHeader& header() const { return header_; }
  const Bytes& payload() const { return payload_; }
  /// Ready for the next frame.
  Bytes take();

 private:
  void check_head();
  std::size_t missing() const;

  std::size_t payload_max_;
  std::array<std::byte, sizeof(FrameHeader)> head_{};
  std::size_t head_bytes_ = 0;
  FrameHeader header_;
  Bytes payload_;
  Fault fault_ = Fault::none;
};

/// Frames on their way out of a non-blocking socket.
class Outbox {
 public:
  void push(std::shared_ptr<const Bytes> frame) { frames_.push_back(std::move(frame)); }
  IoState flush(int socket);
  bool is_empty() const { return frames_.empty(); }
  void clear() { frames_.clear(); }

 private:
  std::deque<std::shared_ptr<const Bytes>> frames_;
  std::size_t sent_ = 0;  ///< of the first
};

}  // namespace ringcomm::inline v0::bootstrap
