// SPDX-License-Identifier: Apache-2.0
// The control messages between two ends of a message transport, and how they are written and read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/transport/message_port.hpp"
#include "transport/common/failure.hpp"

namespace ringcomm::inline v0::transport::message {

/// Blocks up to this size ride inside the control message that announces them.
inline constexpr std::size_t kInlineBytesMax = 2048;
/// The layout below; ranks that speak another one do not connect.
inline constexpr std::uint8_t kWireVersion = 1;

enum class MessageKind : std::uint8_t {
  open = 1,     ///< the sender has opened a channel and says how to address it there
  parcel = 2,   ///< a block: with its bytes, or with the tag under which they follow
  credit = 3,   ///< how many parcels the sender of this has taken
  head = 4,     ///< which operation the sender has entered, and for whom it waits
  failure = 5,  ///< the sender's end has failed
  leave = 6,    ///< the sender's transport is being destroyed
};

/// First in every message.
struct Envelope {
  MessageKind kind = MessageKind::leave;
  std::uint8_t version = kWireVersion;
  std::uint16_t unused = 0;
  std::uint32_t channel = 0;   ///< parcel, credit, head: the receiver's number of the channel
  std::uint32_t position = 0;  ///< parcel, credit, head: of the sender among the channel's members
  std::uint32_t taken = 0;     ///< parcel, credit: parcels of the receiver that the sender has taken
};
struct OpenBody {
  std::uint64_t key_hash = 0;
  std::uint32_t generation = 0;  ///< how often the sender had opened the key before
  std::uint32_t channel = 0;     ///< the sender's number
};
struct ParcelBody {
  Descriptor descriptor{};
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;  ///< unless inline
};
struct HeadBody {
  Descriptor entered{};
  std::uint32_t awaits = 0;  ///< 1 + position of the member that the sender waits for; 0 while it runs
  std::uint32_t unused = 0;
};
struct FailureBody {
  std::uint32_t code = 0;
  std::int32_t culprit = -1;
  std::int32_t reporter = -1;
  std::uint32_t unused = 0;
};

/// One message, read: the body that belongs to the kind is filled in.
struct Message {
  Envelope envelope;
  OpenBody open;
  ParcelBody parcel;
  HeadBody head;
  FailureBody failure;
  std::span<const std::byte> rest;  ///< parcel: the inline block; failure: its text
};
/// corrupt_data, naming the sender, when the bytes cannot be a message.
Result<Message> read_message(std::span<const std::byte> bytes, int from_rank);

FailureReport report_of(const Message& failure);

/// A message being written; fixed memory.
class MessageWriter {
 public:
  explicit MessageWriter(const Envelope& envelope) { put(&envelope, sizeof(envelope)); }
  template <class Body>
  MessageWriter& add(const Body& body) {
    put(&body, sizeof(body));
    return *this;
  }
  MessageWriter& add_bytes(const void* data, std::size_t bytes) {
    put(data, bytes);
    return *this;
  }
  std::span<const std::byte> bytes() const { return {buffer_.data(), used_}; }

 private:
  void put(const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    std::memcpy(buffer_.data() + used_, data, bytes);
    used_ += bytes;
  }
  std::size_t used_ = 0;
  std::array<std::byte, MessagePort::kControlBytesMax> buffer_;
};

static_assert(sizeof(Envelope) + sizeof(ParcelBody) + kInlineBytesMax <= MessagePort::kControlBytesMax);
static_assert(sizeof(Envelope) + sizeof(FailureBody) + kFailureTextBytes <= MessagePort::kControlBytesMax);

}  // namespace ringcomm::inline v0::transport::message
