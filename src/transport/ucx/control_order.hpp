// SPDX-License-Identifier: Apache-2.0
// The control messages of one peer in the order of their numbers, whatever way they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ringcomm::inline v0::transport::ucx {

/// UCX delivers in order what fits into one of its packets. A longer message is delivered when its last
/// packet is here, and where packets go over several lanes (UCX_MAX_EAGER_LANES) a later message may overtake
/// it.
class ControlOrder {
 public:
  /// So many messages may come before one that was sent earlier: far more than are ever in flight.
  static constexpr std::uint32_t kOvertakenMax = 4096;

  /// Messages put together from pieces end with the piece by which they become so long or longer.
  explicit ControlOrder(std::size_t bytes_max, std::uint32_t first = 0)
      : bytes_max_(bytes_max), due_(first) {}
  /// All messages before this number, which wraps, have come.
  std::uint32_t due() const { return due_; }
  /// Whether a later one is here and waits.
  bool has_gap() const { return !early_.empty(); }

  /// A message, or a piece of one when another follows. deliver(number, bytes) is called for every message
  /// that is complete by it, with the number of its last piece. False when the number has been or is too far
  /// ahead.
  template <class Deliver>
  bool hear(std::uint32_t number, bool is_last, std::span<const std::byte> bytes, const Deliver& deliver) {
    const std::uint32_t ahead = number - due_;
    if (ahead > kOvertakenMax) return false;
    if (ahead != 0) return early_.try_emplace(number, Piece{is_last, {bytes.begin(), bytes.end()}}).second;
    take(is_last, bytes, deliver);
    while (!early_.empty()) {
      const auto next = early_.extract(due_);
      if (next.empty()) break;
      take(next.mapped().is_last, next.mapped().bytes, deliver);
    }
    return true;
  }

 private:
  struct Piece {
    bool is_last;
    std::vector<std::byte> bytes;
  };
  template <class Deliver>
  void take(bool is_last, std::span<const std::byte> bytes, const Deliver& deliver) {
    const std::uint32_t number = due_++;
    if (is_last && pieces_.empty()) {
      deliver(number, bytes);
      return;
    }
    if (pieces_.size() < bytes_max_) pieces_.insert(pieces_.end(), bytes.begin(), bytes.end());
    if (!is_last) return;
    deliver(number, std::span<const std::byte>(pieces_));
    pieces_.clear();
  }

  std::size_t bytes_max_;
  std::uint32_t due_;
  std::vector<std::byte> pieces_;         ///< of a message whose end is not here
  std::map<std::uint32_t, Piece> early_;  ///< by number
};

}  // namespace ringcomm::inline v0::transport::ucx
