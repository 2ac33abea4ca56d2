// SPDX-License-Identifier: Apache-2.0
// Which peers of this host have died: UCX notices a killed peer behind shared memory at its next keep-alive
// only.
#pragma once

#include <optional>
#include <vector>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::transport::ucx {

class PeerWatch {
 public:
  PeerWatch() = default;
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  Status open();
  /// peer_lost when the process has ended already. Threads of this very process are not watched.
  Status watch(int rank, int pid);
  /// A rank whose process has ended since; each is reported once.
  std::optional<int> find_ended();
  /// Readable when find_ended() will find one; -1 before open().
  int fd() const { return epoll_; }

 private:
  int epoll_ = -1;
  std::vector<int> processes_;  ///< by rank; -1 unwatched
};

}  // namespace ringcomm::inline v0::transport::ucx
