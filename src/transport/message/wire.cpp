// SPDX-License-Identifier: Apache-2.0
#include "transport/message/wire.hpp"

#include <string>
#include <type_traits>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::message {
namespace {

static_assert(std::is_trivially_copyable_v<Envelope> && sizeof(Envelope) == 16);
static_assert(std::is_trivially_copyable_v<ParcelBody> && sizeof(ParcelBody) == 48);
static_assert(std::is_trivially_copyable_v<HeadBody> && sizeof(HeadBody) == 40);

template <class Body>
bool take(std::span<const std::byte>& bytes, Body& body) {
  if (bytes.size() < sizeof(body)) return false;
  std::memcpy(&body, bytes.data(), sizeof(body));
  bytes = bytes.subspan(sizeof(body));
  return true;
}

/// Reads the body; false when the length does not fit.
bool take_body(Message& message) {
  std::span<const std::byte>& rest = message.rest;
  switch (message.envelope.kind) {
    case MessageKind::open:
      return take(rest, message.open) && rest.empty();
    case MessageKind::parcel:
      return take(rest, message.parcel) &&
             rest.size() == (message.parcel.bytes <= kInlineBytesMax ? message.parcel.bytes : 0);
    case MessageKind::head:
      return take(rest, message.head) && rest.empty();
    case MessageKind::failure:
      return take(rest, message.failure) && message.failure.code != 0;
    case MessageKind::credit:
    case MessageKind::leave:
      return rest.empty();
  }
  return false;
}

}  // namespace

Result<Message> read_message(std::span<const std::byte> bytes, int from_rank) {
  Message message{.envelope = {}, .open = {}, .parcel = {}, .head = {}, .failure = {}, .rest = bytes};
  if (!take(message.rest, message.envelope) || message.envelope.version != kWireVersion ||
      !take_body(message)) {
    return Status::corrupt_data(concat("rank ", from_rank, " sent ", bytes.size(),
                                       " bytes that are no control message of version ",
                                       static_cast<int>(kWireVersion)));
  }
  return message;
}

FailureReport report_of(const Message& failure) {
  const auto code = failure.failure.code > static_cast<std::uint32_t>(StatusCode::internal)
                        ? StatusCode::internal
                        : static_cast<StatusCode>(failure.failure.code);
  std::string text(reinterpret_cast<const char*>(failure.rest.data()), failure.rest.size());
  return {.status = Status(code, std::move(text)),
          .culprit = failure.failure.culprit,
          .reporter = failure.failure.reporter};
}

}  // namespace ringcomm::inline v0::transport::message
