// SPDX-License-Identifier: Apache-2.0
// The socket between two ranks: descriptors of memory travel over it, never data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/device/segment.hpp"

namespace ringcomm::inline v0::transport::shm {

/// The control segment travels under this id, which no registered segment has.
inline constexpr std::uint32_t kControlId = 0;

/// One packet: which segment the enclosed descriptor is. Outside bytes for the reader.
struct Announcement {
  std::uint32_t magic = kMagic;
  std::uint32_t segment_id = 0;
  std::uint64_t bytes = 0;
  static constexpr std::uint32_t kMagic = 0x52435331;  // "RCS1"
};
static_assert(sizeof(Announcement) == 16);

/// One thread at a time. Nothing here waits.
class Link {
 public:
  /// The kernel vouches for `peer_pid` in every packet (SO_PASSCRED is set on `socket`).
  Link(bootstrap::UniqueFd socket, int peer, int peer_pid);

  /// not_available when the peer has left hundreds of announcements unread.
  Status announce(std::uint32_t segment_id, const Segment& segment);
  /// The segment announced under the id, mapped read-only; each announcement serves once. not_found when it
  /// has not come (yet), peer_lost when it cannot come any more, corrupt_data for anything but announcements.
  Result<std::shared_ptr<Segment>> map(std::uint32_t segment_id);
  /// Whether what is announced but not mapped is still wanted; descriptors of the rest are closed.
  template <class IsWanted>
  void forget_unless(IsWanted&& is_wanted) {
    std::erase_if(arrived_,
                  [&](const Arrived& a) { return a.segment_id != kControlId && !is_wanted(a.segment_id); });
  }
  int socket() const { return socket_.get(); }
  int peer_pid() const { return peer_pid_; }
  std::size_t unread_count() const { return arrived_.size(); }

 private:
  struct Arrived {
    std::uint32_t segment_id = 0;
    std::uint64_t bytes = 0;
    bootstrap::UniqueFd fd;
  };
  Status drain();
  Status accept(bootstrap::ReceivedPacket& packet, const Announcement& announcement);

  bootstrap::UniqueFd socket_;
  int peer_;
  int peer_pid_;
  bool is_closed_ = false;
  std::vector<Arrived> arrived_;
};

}  // namespace ringcomm::inline v0::transport::shm
