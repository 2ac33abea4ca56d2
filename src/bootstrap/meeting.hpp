// SPDX-License-Identifier: Apache-2.0
// Ranks in one directory connect to each other: everybody to the lower ranks, and accepts the higher ones.
#pragma once

#include <vector>

#include "bootstrap/store_directory.hpp"

namespace ringcomm::inline v0::bootstrap {

/// One rank's part of a meeting, from the claimed rank to a socket for each peer.
class Meeting {
 public:
  /// `listener` was made from `directory` under the entry's nonce.
  Meeting(const StoreDirectory& directory, const RankEntry& me, UniqueFd listener);

  /// Returns when every peer is connected; on failure the connected peers are told why.
  Status run(Deadline deadline);
  std::vector<UniqueFd> take_sockets();
  /// Connections that were dropped because they came from another user or did not show the nonce.
  int stranger_count() const { return strangers_; }

 private:
  struct Peer {
    UniqueFd socket;
    Nonce nonce{};
    int pid = 0;
    bool is_connected = false;
  };
  struct Caller {
    UniqueFd socket;
    int pid = 0;
  };
  struct Hello;

  Status step();
  /// False when nobody answers there (yet).
  bool call(const RankEntry& entry);
  /// Tells a rank of another world size, since this rank's files may be gone before that one reads them.
  void contradict(const RankEntry& entry);
  Status call_those_there();
  void hear_welcome(int rank);
  Status check_connected(int rank);
  Status hear_peers();
  void accept_callers();
  Status hear_callers();
  Status admit(Caller& caller, const Hello& hello);
  Status check_size(int rank, int size, int pid) const;
  Status timed_out(std::int64_t waited_ms) const;
  bool is_complete() const;
  void wait(Deadline deadline);
  Hello my_hello(const Nonce& shown) const;
  void tell(const Status& reason);

  const StoreDirectory& directory_;
  RankEntry me_;
  UniqueFd listener_;
  std::vector<Peer> peers_;
  std::vector<Caller> callers_;  ///< accepted, have not said hello yet
  int strangers_ = 0;
  int pause_ms_ = 1;
};

}  // namespace ringcomm::inline v0::bootstrap
