// SPDX-License-Identifier: Apache-2.0
// MPI as a network, for sites where it is the only one: nonblocking pairs on a communicator of its own.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "ringcomm/transport/message_port.hpp"
#include "transport/mpi/mailbox.hpp"
#include "transport/mpi/requests.hpp"

namespace ringcomm::inline v0::transport::mpi {

class MpiPort final : public MessagePort {
 public:
  /// The ranks of the group are the ranks of `parent`, in any order; MPI_COMM_NULL: of MPI_COMM_WORLD, which
  /// connect() initialises if need be.
  explicit MpiPort(MPI_Comm parent = MPI_COMM_NULL) : parent_(parent) {}
  ~MpiPort() override;

  std::string_view name() const override { return "mpi"; }
  bool survives_peer_death() const override { return false; }
  Status can_serve(const Bootstrap& bootstrap) const override;
  Status connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) override;

  Status send_control(int peer, std::span<const std::byte> bytes) override;
  Result<TransferId> send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) override;
  Result<TransferId> receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override;
  Result<bool> is_done(TransferId transfer) override;
  Result<bool> progress() override;
  void sleep(std::chrono::microseconds at_most) override;
  void wake() override;

 private:
  /// Lives on if MPI still uses it when the port goes.
  struct State {
    explicit State(MPI_Comm own) : comm(own), mailbox(own), requests(own) {}
    MPI_Comm comm;
    Mailbox mailbox;
    RequestCache requests;
  };
  Result<TransferId> start(bool is_send, int peer, std::uint64_t tag, std::byte* data, std::size_t bytes);
  Status learn_ranks(Bootstrap& bootstrap, Deadline deadline);
  static bool finish(State& state);

  MPI_Comm parent_;
  MessageSink* sink_ = nullptr;
  std::unique_ptr<State> state_;
  std::vector<int> mpi_ranks_;  ///< by rank of the group
  std::vector<int> ranks_;      ///< by rank of the communicator
  int tags_ = 1;                ///< how many there are for data
  int quiet_sleeps_ = 0;        ///< since something moved
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
};

/// MPI_Comm_dup that gives up at the deadline; the copy returns errors instead of ending the program.
Result<MPI_Comm> duplicate(MPI_Comm comm, std::string_view who, Deadline deadline);

}  // namespace ringcomm::inline v0::transport::mpi
