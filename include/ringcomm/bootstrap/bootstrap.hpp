// SPDX-License-Identifier: Apache-2.0
// How ranks find each other. After that, bytes are the transports' business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0 {

enum class GroupKind : std::uint8_t {
  threads,    ///< all ranks live in this process
  processes,  ///< one process per rank, one host
};

/// One rank's handle on the group. Not thread-safe; used while a communicator is created.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual GroupKind kind() const = 0;
  /// Collective: everybody's bytes in rank order (lengths may differ, 1 MiB at most). timeout lists the
  /// missing ranks.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                                 Deadline deadline) = 0;
  /// Processes: a connected, close-on-exec Unix SOCK_SEQPACKET to `peer` whose credentials were checked (same
  /// user); the caller owns it. Each is handed out once. not_available for threads.
  virtual Result<int> take_socket(int peer) = 0;
  /// Processes: the peer's process id as the kernel vouches for it (credentials of its first packet;
  /// SO_PEERCRED would name the maker of a socketpair). Known after the first all_gather or take_socket.
  virtual Result<int> peer_pid(int peer) const = 0;
  /// Threads: one object per key shared by all ranks; the first to come makes it. not_available for
  /// processes.
  virtual Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                                      const std::function<std::shared_ptr<void>()>& make) = 0;
};

/// n handles for n threads of this process.
Result<std::vector<std::unique_ptr<Bootstrap>>> bootstrap_threads(int ranks);

/// Sockets for `ranks` processes, made before fork(): each child calls take(rank) once and the rest is
/// closed there. The creator keeps what is not taken until it destroys the mesh, which it should do once all
/// are forked: until then a child that dies before it has greeted is missed only at the deadline. Threads of
/// the creator may be ranks too. No name in any file system. Linux, one host.
class ForkedMesh {
 public:
  static Result<ForkedMesh> create(int ranks);
  ForkedMesh(ForkedMesh&& other) noexcept;
  ForkedMesh& operator=(ForkedMesh&& other) noexcept;
  ~ForkedMesh();
  /// In the child, or in the parent if it is a rank itself.
  Result<std::unique_ptr<Bootstrap>> take(int rank);

 private:
  ForkedMesh() = default;
  int ranks_ = 0;
  int creator_pid_ = 0;
  std::vector<int> sockets_;  ///< [ranks * ranks]; (a, b) is a's end of the pair with b, -1 on the diagonal
  std::vector<bool> taken_;   ///< in this process
};

/// What the environment says about this process: RINGCOMM_RANK, RINGCOMM_SIZE, RINGCOMM_STORE.
struct LaunchInfo {
  int rank = 0;
  int size = 1;
  std::string store;  ///< "file:///absolute/dir"
};
/// not_found when none of the variables is set; invalid_argument naming the missing or wrong one otherwise.
Result<LaunchInfo> read_launch_environment();

/// Processes that meet in a directory (owner-only, 0700, created if missing). A rank that never comes:
/// timeout that lists the missing ranks. A rank taken twice by live processes: invalid_argument naming rank
/// and both process ids. All files are removed once everybody has connected, and by every rank on failure.
Result<std::unique_ptr<Bootstrap>> bootstrap_file_store(const std::filesystem::path& directory, int rank,
                                                        int size, Deadline deadline);

}  // namespace ringcomm::inline v0
