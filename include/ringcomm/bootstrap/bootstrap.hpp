// SPDX-License-Identifier: Apache-2.0
// How ranks find each other. After that, bytes are the transports' business.
#pragma once

#include <array>
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

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class GroupKind : std::uint8_t {
  threads,    ///< all ranks live in this process
  processes,  ///< one process per rank, one host, joined by Unix sockets
  network,    ///< one process per rank, on hosts that may differ: all_gather() only
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
  /// The network interface on which this rank reaches the others ("eth0"), for a transport to bind to; empty
  /// when the meeting says nothing about it. Loopback only if all ranks share a host.
  virtual std::string_view interface_name() const { return {}; }
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

/// Where rank and size were found, in order of precedence (communication spec 4.4).
enum class LaunchSource : std::uint8_t { ringcomm, torchrun, open_mpi, mpich, slurm };
std::string_view name_of(LaunchSource source);

/// What the environment says about this process.
struct LaunchInfo {
  LaunchSource source = LaunchSource::ringcomm;
  int rank = 0;
  int size = 1;
  int local_rank = -1;  ///< among the ranks of this host; -1 unknown
  int local_size = -1;
  /// "file:///absolute/dir", "tcp://host:port", "id:<256 hex digits>"; found or derived from the launcher's
  /// variables, empty if it gives none.
  std::string store;
};
/// RINGCOMM_*, then torchrun, then Open MPI, MPICH, Slurm. not_found when no source is set; invalid_argument
/// naming both variables and values for a contradiction inside one source, or for two sources that give the
/// same size and different ranks.
Result<LaunchInfo> read_launch_environment();

/// Meets the ranks that the environment names: Communicator::from_environment() in two steps. not_found when
/// no source is set.
Result<std::unique_ptr<Bootstrap>> bootstrap_from_environment(Deadline deadline);

/// Names a group that is about to form; opaque: a root address and a random secret.
struct UniqueId {
  static constexpr std::size_t kBytes = 128;
  std::array<std::byte, kBytes> bytes{};
  std::string to_hex() const;
  static Result<UniqueId> from_hex(std::string_view text);
};
/// Opens the meeting place in this process, on the interface of RINGCOMM_SOCKET_IFNAME or else the one that
/// routes outwards (loopback if there is none). It serves one group, in one short-lived thread, until all
/// ranks have met or RINGCOMM_TIMEOUT has passed.
Result<UniqueId> create_unique_id();
/// Collective over `size` ranks that hold the same id. Strangers and wrong secrets are dropped and counted.
Result<std::unique_ptr<Bootstrap>> bootstrap_unique_id(const UniqueId& id, int rank, int size,
                                                       Deadline deadline);
/// As above with a meeting place at a fixed address, opened by rank 0: "host:port". `secret` must be equal on
/// all ranks. If the port is taken by another program (torchrun's own store), the next free one of the 16
/// ports behind it serves.
Result<std::unique_ptr<Bootstrap>> bootstrap_tcp(std::string_view address, std::string_view secret, int rank,
                                                 int size, Deadline deadline);

/// An all-gather of the caller's own: everybody's `bytes_each` bytes in rank order into `all`. What UCC calls
/// out-of-band; MPI, a key-value store or a channel of another communicator can be behind it.
using AllGatherCallback =
    std::function<Status(std::span<const std::byte> mine, std::span<std::byte> all, Deadline deadline)>;
Result<std::unique_ptr<Bootstrap>> bootstrap_callback(int rank, int size, AllGatherCallback all_gather,
                                                      Deadline deadline);

/// Joins the ranks of `group` by Unix sockets where all share a host (proved by connecting, not by names), so
/// that shared memory can serve them; else returns `group` as it is and logs why. The bootstraps above do
/// this themselves. Collective.
Result<std::unique_ptr<Bootstrap>> join_local(std::unique_ptr<Bootstrap> group, Deadline deadline);

/// Processes that meet in a directory (owner-only, 0700, created if missing). A rank that never comes:
/// timeout that lists the missing ranks. A rank taken twice by live processes: invalid_argument naming rank
/// and both process ids. All files are removed once everybody has connected, and by every rank on failure.
Result<std::unique_ptr<Bootstrap>> bootstrap_file_store(const std::filesystem::path& directory, int rank,
                                                        int size, Deadline deadline);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
