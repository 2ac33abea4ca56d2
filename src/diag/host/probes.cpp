// SPDX-License-Identifier: Apache-2.0
// Tries between this process and a child what ranks of one host need from each other.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "diag/host/probe_child.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/host_checks.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kSecret = 0x5eed'0f'a'2149ULL;

std::string failed(const char* call) { return concat(call, " failed: ", std::strerror(errno)); }

/// Shared by both sides; unmapped at the end.
struct SharedPage {
  void* address = MAP_FAILED;
  explicit SharedPage(int fd, int protection = PROT_READ | PROT_WRITE)
      : address(::mmap(nullptr, kPage, protection, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0)) {}
  ~SharedPage() {
    if (address != MAP_FAILED) ::munmap(address, kPage);
  }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  bool is_mapped() const { return address != MAP_FAILED; }
};

int sealed_memory(std::string& why) {
  const int fd = ::memfd_create("ringcomm-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    why = failed("memfd_create");
    return -1;
  }
  if (::ftruncate(fd, kPage) != 0 || ::pwrite(fd, &kSecret, sizeof(kSecret), 0) != sizeof(kSecret)) {
    why = failed("writing a memfd");
  } else if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    why = failed("F_ADD_SEALS");
  }
  return fd;
}

std::string probe_seal(std::chrono::milliseconds /*deadline*/) {
  std::string why;
  const int fd = sealed_memory(why);
  if (fd < 0) return why;
  if (why.empty() && ::ftruncate(fd, 0) == 0) why = "a sealed memfd could be shrunk";
  ::close(fd);
  return why;
}

/// One byte with room for a descriptor beside it. (bootstrap/unix_socket does the same for ranks; diag must
/// not know it.)
struct DescriptorMessage {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 1;
  iovec piece{&byte, 1};
  msghdr header{};

  DescriptorMessage() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
  cmsghdr* enclosed() { return CMSG_FIRSTHDR(&header); }
};

/// The child gets the descriptor, maps it and reads.
std::string receive_and_read(int socket) {
  DescriptorMessage message;
  if (::recvmsg(socket, &message.header, 0) != 1) return failed("recvmsg");
  const cmsghdr* enclosed = message.enclosed();
  if (enclosed == nullptr || enclosed->cmsg_type != SCM_RIGHTS) return "the descriptor did not arrive";
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(enclosed), sizeof(fd));
  const SharedPage page(fd, PROT_READ);
  if (!page.is_mapped()) return failed("mapping the peer's memfd");
  return std::memcmp(page.address, &kSecret, sizeof(kSecret)) == 0 ? ""
                                                                   : "the peer's memory holds other bytes";
}

std::string send_descriptor(int socket, int fd) {
  DescriptorMessage message;
  cmsghdr* const enclosed = message.enclosed();
  enclosed->cmsg_level = SOL_SOCKET;
  enclosed->cmsg_type = SCM_RIGHTS;
  enclosed->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(enclosed), &fd, sizeof(fd));
  return ::sendmsg(socket, &message.header, MSG_NOSIGNAL) == 1 ? "" : failed("sendmsg with a descriptor");
}

std::string probe_fd_passing(std::chrono::milliseconds deadline) {
  std::string why;
  const int fd = sealed_memory(why);
  if (fd < 0) return why;
  if (why.empty()) {
    why = with_child(
        deadline, [](int socket) { return receive_and_read(socket); },
        [fd](int socket) { return send_descriptor(socket, fd); });
  }
  ::close(fd);
  return why;
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

/// The child sleeps on a word in shared memory until it changes.
std::string probe_futex(std::chrono::milliseconds deadline) {
  const SharedPage page(-1);
  if (!page.is_mapped()) return failed("mmap");
  auto* const word = static_cast<std::uint32_t*>(page.address);
  const std::atomic_ref<std::uint32_t> flag(*word);
  const auto sleeper = [word, flag](int socket) -> std::string {
    const char ready = 1;
    if (::send(socket, &ready, 1, MSG_NOSIGNAL) != 1) return failed("send");
    while (flag.load(std::memory_order_acquire) == 0) {
      if (futex(word, FUTEX_WAIT, 0, nullptr) != 0 && errno != EAGAIN && errno != EINTR)
        return failed("FUTEX_WAIT");
    }
    return {};
  };
  return with_child(deadline, sleeper, [word, flag, deadline](int socket) -> std::string {
    if (!readable(socket, deadline)) return "the child did not start";
    ::usleep(2000);  // let it fall asleep; awake or not, it has to see the flag
    flag.store(1, std::memory_order_release);
    return futex(word, FUTEX_WAKE, 1, nullptr) < 0 ? failed("FUTEX_WAKE") : std::string();
  });
}

std::string connect_and_send(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failed("connect to 127.0.0.1");
  return ::send(fd, &kSecret, sizeof(kSecret), MSG_NOSIGNAL) == sizeof(kSecret)
             ? ""
             : failed("send over 127.0.0.1");
}

std::string accept_and_read(int listener, std::chrono::milliseconds deadline) {
  if (!readable(listener, deadline)) return "nobody connected over 127.0.0.1 (is a filter in the way?)";
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return failed("accept");
  std::uint64_t got = 0;
  const bool is_same =
      readable(fd, deadline) && ::recv(fd, &got, sizeof(got), MSG_WAITALL) == sizeof(got) && got == kSecret;
  ::close(fd);
  return is_same ? "" : "bytes over 127.0.0.1 did not arrive";
}

std::string probe_tcp(std::chrono::milliseconds deadline) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return failed("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  std::string why;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    why = failed("listening on 127.0.0.1");
  } else {
    why = with_child(
        deadline, [&address](int) { return connect_and_send(address); },
        [listener, deadline](int) { return accept_and_read(listener, deadline); });
  }
  ::close(listener);
  return why;
}

/// The child reads this process's memory, as cross-memory attach of MPI and UCX does between ranks (siblings:
/// no ancestor's privilege, so yama's scope 1 refuses it).
std::string probe_cma(std::chrono::milliseconds deadline) {
  static std::uint64_t target = kSecret;
  const pid_t parent = ::getpid();
  return with_child(
      deadline,
      [parent](int) -> std::string {
        std::uint64_t got = 0;
        iovec local{&got, sizeof(got)};
        iovec remote{&target, sizeof(target)};
        if (::process_vm_readv(parent, &local, 1, &remote, 1, 0) != sizeof(got))
          return failed("process_vm_readv");
        return got == kSecret ? "" : "process_vm_readv read other bytes";
      },
      [](int) { return std::string(); });
}

}  // namespace
}  // namespace diag

std::map<std::string, std::string> run_probes(std::chrono::milliseconds deadline) {
  struct Probe {
    const char* name;
    std::string (*run)(std::chrono::milliseconds);
  };
  constexpr std::array kProbes{Probe{"fd_passing", diag::probe_fd_passing},
                               Probe{"memfd_seal", diag::probe_seal}, Probe{"futex_wake", diag::probe_futex},
                               Probe{"loopback_tcp", diag::probe_tcp}, Probe{"cma", diag::probe_cma}};
  std::map<std::string, std::string> results;
  for (const Probe& probe : kProbes) {
    const std::string why = probe.run(deadline);
    results[probe.name] = why.empty() ? "ok" : why;
  }
  return results;
}

}  // namespace ringcomm::inline v0
