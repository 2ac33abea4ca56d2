// SPDX-License-Identifier: Apache-2.0
// Ranks that meet over MPI, and the transport that a program makes from its own MPI communicator.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/interop/mpi.hpp"
#include "ringcomm/transport/message_port.hpp"
#include "transport/mpi/check.hpp"
#include "transport/mpi/port.hpp"

namespace ringcomm::inline v0 {
namespace transport::mpi {
namespace {

constexpr int kSizeTag = 1;
constexpr int kBytesTag = 2;
constexpr std::size_t kBytesMax = std::size_t{1} << 20;

/// One all_gather under way. Point to point, so that whoever is missing can be named.
struct Exchange {
  explicit Exchange(std::size_t ranks) : sizes(ranks), all(ranks), state(ranks) {}
  enum class State : std::uint8_t { size_awaited, bytes_awaited, here };
  std::vector<std::byte> mine;
  std::uint64_t my_size = 0;
  std::vector<std::uint64_t> sizes;
  std::vector<std::vector<std::byte>> all;
  std::vector<State> state;
  std::vector<MPI_Request> sends, receives;  ///< two sends and one receive per rank
};

class MpiBootstrap final : public Bootstrap {
 public:
  MpiBootstrap(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  ~MpiBootstrap() override {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised == 0 && !is_broken_) MPI_Comm_free(&comm_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  GroupKind kind() const override { return GroupKind::network; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override;
  Result<int> take_socket(int) override { return no_local_means(); }
  Result<int> peer_pid(int) const override { return no_local_means(); }
  Result<std::shared_ptr<void>> shared_object(std::string_view,
                                              const std::function<std::shared_ptr<void>()>&) override {
    return no_local_means();
  }

 private:
  static Status no_local_means() {
    return Status::not_available("ranks that met over MPI share neither sockets nor memory");
  }
  Status start(Exchange& exchange) const;
  /// Moves the exchange on; whether it is complete.
  Result<bool> advance(Exchange& exchange) const;

  MPI_Comm comm_;
  int rank_;
  int size_;
  bool is_broken_ = false;  ///< an exchange is still under way
};

Status MpiBootstrap::start(Exchange& exchange) const {
  const auto ranks = static_cast<std::size_t>(size_);
  exchange.sends.assign(2 * ranks, MPI_REQUEST_NULL);
  exchange.receives.assign(ranks, MPI_REQUEST_NULL);
  for (int peer = 0; peer < size_; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    RINGCOMM_TRY(to_status(MPI_Irecv(&exchange.sizes[i], sizeof(std::uint64_t), MPI_BYTE, peer, kSizeTag,
                                     comm_, &exchange.receives[i]),
                           "MPI_Irecv"));
    RINGCOMM_TRY(to_status(MPI_Isend(&exchange.my_size, sizeof(std::uint64_t), MPI_BYTE, peer, kSizeTag,
                                     comm_, &exchange.sends[2 * i]),
                           "MPI_Isend"));
    RINGCOMM_TRY(to_status(MPI_Isend(exchange.mine.data(), static_cast<int>(exchange.my_size), MPI_BYTE, peer,
                                     kBytesTag, comm_, &exchange.sends[2 * i + 1]),
                           "MPI_Isend"));
  }
  return {};
}

Result<bool> MpiBootstrap::advance(Exchange& exchange) const {
  int is_sent = 0;
  RINGCOMM_TRY(to_status(MPI_Testall(static_cast<int>(exchange.sends.size()), exchange.sends.data(), &is_sent,
                                     MPI_STATUSES_IGNORE),
                         "MPI_Testall"));
  bool is_complete = is_sent != 0;
  for (std::size_t i = 0; i < exchange.state.size(); ++i) {
    if (exchange.state[i] == Exchange::State::here) continue;
    int is_done = 0;
    RINGCOMM_TRY(to_status(MPI_Test(&exchange.receives[i], &is_done, MPI_STATUS_IGNORE), "MPI_Test"));
    is_complete = is_complete && is_done != 0 && exchange.state[i] == Exchange::State::bytes_awaited;
    if (is_done == 0) continue;
    if (exchange.state[i] == Exchange::State::bytes_awaited) {
      exchange.state[i] = Exchange::State::here;
      continue;
    }
    if (exchange.sizes[i] > kBytesMax)
      return Status::corrupt_data(concat("rank ", i, " gives ", exchange.sizes[i],
                                         " bytes to an all_gather over MPI (1 MiB at most)"));
    exchange.all[i].resize(exchange.sizes[i]);
    RINGCOMM_TRY(to_status(MPI_Irecv(exchange.all[i].data(), static_cast<int>(exchange.sizes[i]), MPI_BYTE,
                                     static_cast<int>(i), kBytesTag, comm_, &exchange.receives[i]),
                           "MPI_Irecv"));
    exchange.state[i] = Exchange::State::bytes_awaited;
  }
  return is_complete;
}

Result<std::vector<std::vector<std::byte>>> MpiBootstrap::all_gather(std::span<const std::byte> mine,
                                                                     Deadline deadline) {
  if (is_broken_) return Status::aborted("an earlier all_gather over MPI failed");
  if (mine.size() > kBytesMax) {
    return Status::invalid_argument(
        concat("all_gather over MPI got ", mine.size(), " bytes (1 MiB at most)"));
  }
  auto exchange = std::make_unique<Exchange>(static_cast<std::size_t>(size_));
  exchange->mine.assign(mine.begin(), mine.end());
  exchange->my_size = mine.size();
  Status status = start(*exchange);
  while (status.is_ok()) {
    const Result<bool> done = advance(*exchange);
    if (done.is_ok() && done.value()) return std::move(exchange->all);
    status = done.status();
    if (status.is_ok() && deadline.is_expired()) {
      std::string missing;
      for (std::size_t i = 0; i < exchange->state.size(); ++i) {
        if (exchange->state[i] != Exchange::State::here) missing += concat(missing.empty() ? "" : ", ", i);
      }
      status = Status::timeout(concat("all_gather over MPI: rank ", missing, " of ", size_, " did not come"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  is_broken_ = true;
  (void)exchange.release();  // MPI may still write into it
  return status;
}

}  // namespace
}  // namespace transport::mpi

Result<std::unique_ptr<Bootstrap>> bootstrap_mpi(MPI_Comm comm, Deadline deadline) {
  RINGCOMM_TRY(transport::mpi::initialise());
  RINGCOMM_TRY_ASSIGN(const MPI_Comm own, transport::mpi::duplicate(comm, "bootstrap_mpi", deadline));
  int rank = 0;
  int size = 1;
  RINGCOMM_TRY(transport::mpi::to_status(MPI_Comm_rank(own, &rank), "MPI_Comm_rank"));
  RINGCOMM_TRY(transport::mpi::to_status(MPI_Comm_size(own, &size), "MPI_Comm_size"));
  return join_local(std::make_unique<transport::mpi::MpiBootstrap>(own, rank, size), deadline);
}

TransportFactory mpi_transport(MPI_Comm comm) {
  return message_transport([comm] { return std::make_unique<transport::mpi::MpiPort>(comm); });
}

}  // namespace ringcomm::inline v0
