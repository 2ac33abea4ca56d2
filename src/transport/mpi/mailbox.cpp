// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "core/try.hpp"
#include "transport/mpi/check.hpp"

namespace ringcomm::inline v0::transport::mpi {

Status Mailbox::open() {
  receives_.fill(MPI_REQUEST_NULL);
  is_open_ = true;
  for (std::size_t i = 0; i < kReceives; ++i) {
    RINGCOMM_TRY(to_status(MPI_Recv_init(received_[i].data(), static_cast<int>(received_[i].size()), MPI_BYTE,
                                         MPI_ANY_SOURCE, kControlTag, comm_, &receives_[i]),
                           "MPI_Recv_init"));
    RINGCOMM_TRY(to_status(MPI_Start(&receives_[i]), "MPI_Start"));
  }
  return {};
}

Status Mailbox::send(int peer, std::span<const std::byte> bytes) {
  if (sending_ == outgoing_.size()) RINGCOMM_TRY(collect_sent());
  if (sending_ == outgoing_.size()) outgoing_.push_back(std::make_unique<Outgoing>());
  Outgoing& slot = *outgoing_[sending_];
  std::copy(bytes.begin(), bytes.end(), slot.buffer.begin());
  RINGCOMM_TRY(to_status(MPI_Isend(slot.buffer.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer,
                                   kControlTag, comm_, &slot.request),
                         "MPI_Isend"));
  ++sending_;
  return {};
}

Status Mailbox::collect_sent() {
  for (std::size_t i = 0; i < sending_;) {
    int is_done = 0;
    RINGCOMM_TRY(to_status(MPI_Test(&outgoing_[i]->request, &is_done, MPI_STATUS_IGNORE), "MPI_Test"));
    if (is_done != 0) {
      std::swap(outgoing_[i], outgoing_[--sending_]);
    } else {
      ++i;
    }
  }
  return {};
}

Result<bool> Mailbox::poll(const std::function<void(int, std::span<const std::byte>)>& on_message) {
  bool has_come = false;
  for (;;) {
    MPI_Request& oldest = receives_[next_];
    int is_done = 0;
    MPI_Status status;
    RINGCOMM_TRY(to_status(MPI_Test(&oldest, &is_done, &status), "a receive"));
    if (is_done == 0) break;
    has_come = true;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    on_message(status.MPI_SOURCE, std::span(received_[next_]).first(static_cast<std::size_t>(bytes)));
    RINGCOMM_TRY(to_status(MPI_Start(&oldest), "MPI_Start"));
    next_ = (next_ + 1) % kReceives;
  }
  if (sending_ > 0) RINGCOMM_TRY(collect_sent());
  return has_come;
}

void Mailbox::close() {
  if (!is_open_) return;
  is_open_ = false;
  for (MPI_Request& request : receives_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

}  // namespace ringcomm::inline v0::transport::mpi
