// SPDX-License-Identifier: Apache-2.0
// Packets, descriptors and process handles over Unix sockets: the few system calls that ranks meet with.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

/// Owns one descriptor; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// closed: the peer is gone (end of file, reset, or an empty packet, which nobody of us sends).
enum class IoState : std::uint8_t { done, would_block, closed, failed };

/// Never blocks, never raises SIGPIPE. `fd_to_pass` travels along (SCM_RIGHTS).
IoState send_packet(int socket, std::span<const std::byte> bytes, int fd_to_pass = -1);

struct ReceivedPacket {
  IoState state = IoState::would_block;
  std::size_t bytes = 0;
  bool was_truncated = false;    ///< longer than the buffer: not one of ours
  bool lost_descriptor = false;  ///< one was enclosed, but this process may open no more
  UniqueFd fd;                   ///< at most one is kept, close-on-exec; further ones are closed
  int pid = 0;                   ///< of the sender as the kernel vouches for it; 0 without SO_PASSCRED
  unsigned uid = 0;
};
/// Never blocks. What a peer sent before it died is still delivered.
ReceivedPacket receive_packet(int socket, std::span<std::byte> buffer);

/// Connected, close-on-exec, non-blocking SOCK_SEQPACKET sockets whose packets carry their sender's
/// credentials. (SO_PEERCRED of a socketpair names its maker for both ends, hence SO_PASSCRED.)
Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair();
void pass_credentials(int socket);

/// The process as a descriptor that becomes readable when it ends; immune to reuse of its number. not_found
/// when it has ended already.
Result<UniqueFd> open_pidfd(int pid);
bool has_ended(int pidfd);

/// poll() until something is ready, the deadline passes, or `longest_ms` are over.
void wait_ready(std::span<pollfd> fds, Deadline deadline, int longest_ms);

using Nonce = std::array<std::byte, 16>;
/// From getrandom(2).
Nonce make_nonce();
/// In time that does not depend on where they differ.
bool is_same(const Nonce& a, const Nonce& b);

/// "no such file or directory (2)".
std::string describe_errno(int code);

}  // namespace ringcomm::inline v0::bootstrap
