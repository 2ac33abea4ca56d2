// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/unix_socket.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

// Room for one descriptor, the sender's credentials, and a few descriptors that a hostile peer adds.
constexpr std::size_t kControlBytes = CMSG_SPACE(8 * sizeof(int)) + CMSG_SPACE(sizeof(ucred));

void take_descriptors(const cmsghdr* header, UniqueFd& kept) {
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    UniqueFd owned(fd);
    if (!kept.is_open()) kept = std::move(owned);
  }
}

void read_control(msghdr& message, ReceivedPacket& packet) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_RIGHTS) take_descriptors(header, packet.fd);
    if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(header), sizeof(who));
      packet.pid = who.pid;
      packet.uid = who.uid;
    }
  }
}

// A peer that closed with our packets unread leaves one ECONNRESET in front of what it sent before.
ssize_t receive_past_reset(int socket, msghdr& message, std::size_t control_bytes) {
  bool was_reset = false;
  while (true) {
    message.msg_controllen = control_bytes;
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got >= 0 || (errno != EINTR && errno != ECONNRESET)) return got;
    if (errno == ECONNRESET && std::exchange(was_reset, true)) return got;
  }
}

}  // namespace

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

IoState send_packet(int socket, std::span<const std::byte> bytes, int fd_to_pass) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_to_pass >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd_to_pass, sizeof(int));
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return IoState::done;
  // ETOOMANYREFS: more descriptors in flight than RLIMIT_NOFILE; it passes when the peer drains.
  if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return IoState::would_block;
  return errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN ? IoState::closed : IoState::failed;
}

ReceivedPacket receive_packet(int socket, std::span<std::byte> buffer) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  const ssize_t got = receive_past_reset(socket, message, control.size());
  ReceivedPacket packet;
  if (got < 0) {
    if (errno != EAGAIN) packet.state = errno == ECONNRESET ? IoState::closed : IoState::failed;
    return packet;
  }
  read_control(message, packet);
  packet.bytes = static_cast<std::size_t>(got);
  packet.state = got == 0 ? IoState::closed : IoState::done;
  packet.was_truncated = (message.msg_flags & MSG_TRUNC) != 0;
  packet.lost_descriptor = (message.msg_flags & MSG_CTRUNC) != 0 && !packet.fd.is_open();
  return packet;
}

Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return Status::not_available(
        concat("socketpair failed: ", describe_errno(errno), " Is RLIMIT_NOFILE too low?"));
  }
  pass_credentials(ends[0]);
  pass_credentials(ends[1]);
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

void pass_credentials(int socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

Result<UniqueFd> open_pidfd(int pid) {
  // By number: <sys/pidfd.h> of glibc 2.36 lacks extern "C".
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  if (errno == ESRCH) return Status::not_found(concat("process ", pid, " has ended"));
  return Status::not_available(concat("pidfd_open of process ", pid, " failed: ", describe_errno(errno),
                                      " (needed to notice that a rank died)"));
}

bool has_ended(int pidfd) {
  pollfd entry{pidfd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

void wait_ready(std::span<pollfd> fds, Deadline deadline, int longest_ms) {
  const std::int64_t left_ms = deadline.remaining_ns() / 1'000'000 + 1;
  ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left_ms, longest_ms)));
}

Nonce make_nonce() {
  Nonce nonce{};
  std::size_t filled = 0;
  while (filled < nonce.size()) {
    const ssize_t got = ::getrandom(nonce.data() + filled, nonce.size() - filled, 0);
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return nonce;
}

bool is_same(const Nonce& a, const Nonce& b) {
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

std::string describe_errno(int code) {
  const char* known = ::strerrordesc_np(code);
  std::string text = known != nullptr ? known : "unknown error";
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return concat(text, " (", code, ")");
}

}  // namespace ringcomm::inline v0::bootstrap
