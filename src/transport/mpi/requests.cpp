// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/requests.hpp"

#include "core/try.hpp"
#include "transport/mpi/check.hpp"

namespace ringcomm::inline v0::transport::mpi {

RequestCache::Entry& RequestCache::find(const TransferKey& key) {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (entry.is_active) continue;
    if (entry.key == key) return entry;
    if (oldest == nullptr || entry.last_use < oldest->last_use) oldest = &entry;
  }
  if (oldest == nullptr || entries_.size() < kKeptMax) {
    entries_.emplace_back();
    return entries_.back();
  }
  return *oldest;
}

Result<TransferId> RequestCache::start(const TransferKey& key) {
  Entry& entry = find(key);
  if (entry.request == MPI_REQUEST_NULL || !(entry.key == key)) {
    if (entry.request != MPI_REQUEST_NULL) MPI_Request_free(&entry.request);
    entry.key = key;
    const int code =
        key.is_send ? MPI_Send_init(key.data, key.bytes, MPI_BYTE, key.peer, key.tag, comm_, &entry.request)
                    : MPI_Recv_init(key.data, key.bytes, MPI_BYTE, key.peer, key.tag, comm_, &entry.request);
    RINGCOMM_TRY(to_status(code, key.is_send ? "MPI_Send_init" : "MPI_Recv_init"));
  }
  RINGCOMM_TRY(to_status(MPI_Start(&entry.request), "MPI_Start"));
  entry.is_active = true;
  entry.last_use = ++uses_;
  ++active_;
  return static_cast<TransferId>(&entry - entries_.data()) + 1;
}

Result<bool> RequestCache::is_done(TransferId id) {
  Entry& entry = entries_[static_cast<std::size_t>(id - 1)];
  int is_done = 0;
  RINGCOMM_TRY(to_status(MPI_Test(&entry.request, &is_done, MPI_STATUS_IGNORE),
                         entry.key.is_send ? "a send" : "a receive"));
  if (is_done == 0) return false;
  entry.is_active = false;
  --active_;
  return true;
}

void RequestCache::free_all() {
  for (Entry& entry : entries_) {
    if (entry.request != MPI_REQUEST_NULL) MPI_Request_free(&entry.request);
  }
  entries_.clear();
}

}  // namespace ringcomm::inline v0::transport::mpi
