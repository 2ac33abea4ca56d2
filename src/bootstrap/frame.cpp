// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr std::size_t kReasonTextMax = 2048;

}  // namespace

std::shared_ptr<const Bytes> make_frame(FrameHeader header, std::span<const std::byte> payload) {
  header.length = static_cast<std::uint32_t>(payload.size());
  auto frame = std::make_shared<Bytes>(sizeof(header) + payload.size());
  std::memcpy(frame->data(), &header, sizeof(header));
  if (!payload.empty()) std::memcpy(frame->data() + sizeof(header), payload.data(), payload.size());
  return frame;
}

std::shared_ptr<const Bytes> reason_frame(const Status& reason) {
  FrameHeader header;
  header.kind = FrameKind::reason;
  header.code = static_cast<std::uint16_t>(reason.code());
  return make_frame(header, std::as_bytes(std::span(reason.message().substr(0, kReasonTextMax))));
}

Status read_reason(const FrameHeader& header, std::span<const std::byte> payload) {
  std::string text;
  for (const std::byte b : payload.first(std::min(payload.size(), kReasonTextMax))) {
    const char c = static_cast<char>(b);
    text += c >= ' ' && c != 127 ? c : ' ';
  }
  const bool is_known = header.code > 0 && header.code <= static_cast<std::uint16_t>(StatusCode::internal);
  return {is_known ? static_cast<StatusCode>(header.code) : StatusCode::aborted, std::move(text)};
}

void FrameReader::check_head() {
  const std::uint32_t expected = FrameHeader::kMagic;
  std::array<std::byte, sizeof(expected)> magic{};
  std::memcpy(magic.data(), &expected, sizeof(expected));
  for (std::size_t i = 0; i < std::min(head_bytes_, magic.size()); ++i) {
    if (head_[i] == magic[i]) continue;
    fault_ = i + 1 == magic.size() ? Fault::version : Fault::magic;
    return;
  }
  if (head_bytes_ < sizeof(header_)) return;
  std::memcpy(&header_, head_.data(), sizeof(header_));
  if (header_.length > payload_max_) fault_ = Fault::length;
}

std::size_t FrameReader::missing() const {
  if (head_bytes_ < sizeof(header_)) return sizeof(header_) - head_bytes_;
  return header_.length - payload_.size();
}

bool FrameReader::is_complete() const {
  return fault_ == Fault::none && head_bytes_ == sizeof(header_) && payload_.size() == header_.length;
}

std::size_t FrameReader::feed(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && fault_ == Fault::none && !is_complete()) {
    const auto piece = bytes.subspan(taken, std::min(missing(), bytes.size() - taken));
    taken += piece.size();
    if (head_bytes_ < sizeof(header_)) {
      std::memcpy(head_.data() + head_bytes_, piece.data(), piece.size());
      head_bytes_ += piece.size();
      check_head();
    } else {
      payload_.insert(payload_.end(), piece.begin(), piece.end());
    }
  }
  return taken;
}

IoState FrameReader::receive(int socket) {
  std::array<std::byte, kReadBytes> buffer;
  while (!is_complete()) {
    if (fault_ != Fault::none) return IoState::failed;
    const ssize_t got = ::recv(socket, buffer.data(), std::min(missing(), buffer.size()), MSG_DONTWAIT);
    if (got == 0) return IoState::closed;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? IoState::would_block : IoState::closed;
    feed(std::span(buffer).first(static_cast<std::size_t>(got)));
  }
  return IoState::done;
}

Bytes FrameReader::take() {
  head_bytes_ = 0;
  return std::exchange(payload_, {});
}

IoState Outbox::flush(int socket) {
  while (!frames_.empty()) {
    const Bytes& frame = *frames_.front();
    const ssize_t sent =
        ::send(socket, frame.data() + sent_, frame.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == ENOBUFS ? IoState::would_block : IoState::closed;
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < frame.size()) continue;
    frames_.pop_front();
    sent_ = 0;
  }
  return IoState::done;
}

}  // namespace ringcomm::inline v0::bootstrap
