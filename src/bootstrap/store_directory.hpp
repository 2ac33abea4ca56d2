// SPDX-License-Identifier: Apache-2.0
// The directory in which processes of one user meet: who may use it, who is in it, and what is cleaned up.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bootstrap/rank_entry.hpp"
#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

/// A descriptor on the directory, so that nobody can exchange it under us, and so that its path may be longer
/// than a socket address (108 bytes) allows: sockets are reached through /proc/self/fd.
class StoreDirectory {
 public:
  /// Creates it with mode 0700 if it is missing (its parent must exist); a directory that the store made is
  /// removed by the last rank that leaves. invalid_argument if it belongs to somebody else, or others may
  /// write into it.
  static Result<StoreDirectory> open(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  ///< "file:///path"
  /// Takes the entry's rank. A rank file whose process is gone is replaced. invalid_argument when a live
  /// process holds the rank; not_found when the directory was removed meanwhile (open it again).
  Status claim(const RankEntry& entry, Deadline deadline);
  /// Removes the entry's files and those of dead processes, then the directory if the store made it and
  /// nobody is left. Never fails: what cannot be removed stays.
  void leave(const RankEntry& entry);
  /// All ranks there, of live processes.
  std::vector<RankEntry> live_entries() const;
  /// A listening socket under the nonce's name.
  Result<UniqueFd> listen(const Nonce& nonce, int backlog) const;
  /// Connects without waiting; nothing when nobody listens there (any more), or its queue is full.
  UniqueFd connect(const Nonce& nonce) const;

 private:
  class Lock;
  std::string socket_path(const Nonce& nonce) const;
  Status mark_if_made(bool was_made) const;
  void remove_entry_files(const RankEntry& entry) const;
  void remove_dead_entries() const;
  std::vector<std::string> file_names() const;
  bool read_entry(const std::string& file, RankEntry& entry) const;

  std::string path_;
  std::string name_;
  UniqueFd directory_;
};

}  // namespace ringcomm::inline v0::bootstrap
