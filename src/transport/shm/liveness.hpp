// SPDX-License-Identifier: Apache-2.0
// Which peers' processes have ended: one system call for all of them, however many there are.
#pragma once

#include <optional>
#include <vector>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::transport::shm {

class Liveness {
 public:
  static Result<Liveness> create();

  /// Ranks of this very process (threads, in tests) are not watched. peer_lost when it has ended already.
  Status watch(int rank, int pid);
  /// A rank whose process has ended, as long as forget() was not called for it. Any thread, never blocks.
  std::optional<int> find_ended() const;
  /// For a rank that left in good order. Any thread.
  void forget(int rank) const;

 private:
  bootstrap::UniqueFd epoll_;
  std::vector<bootstrap::UniqueFd> processes_;  ///< by rank
};

}  // namespace ringcomm::inline v0::transport::shm
