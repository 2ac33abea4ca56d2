// SPDX-License-Identifier: Apache-2.0
// Persistent requests: a ring sends the same blocks to the same peer again and again.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/transport/message_port.hpp"

namespace ringcomm::inline v0::transport::mpi {

/// What a request is for; one that is done can be started again for the same.
struct TransferKey {
  bool is_send = false;
  int peer = 0;  ///< rank of the MPI communicator
  int tag = 0;
  std::byte* data = nullptr;
  int bytes = 0;
  friend bool operator==(const TransferKey&, const TransferKey&) = default;
};

class RequestCache {
 public:
  /// Requests that are kept although they are done.
  static constexpr std::size_t kKeptMax = 64;

  explicit RequestCache(MPI_Comm comm) : comm_(comm) {}
  Result<TransferId> start(const TransferKey& key);
  Result<bool> is_done(TransferId id);
  std::size_t active() const { return active_; }
  std::size_t size() const { return entries_.size(); }
  /// All requests are done.
  void free_all();

 private:
  struct Entry {
    TransferKey key;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_active = false;
    std::uint64_t last_use = 0;
  };
  /// An idle entry of this key, or one to be made anew: an empty one, the one that was idle longest, or
  /// another.
  Entry& find(const TransferKey& key);

  MPI_Comm comm_;
  std::vector<Entry> entries_;
  std::size_t active_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace ringcomm::inline v0::transport::mpi
