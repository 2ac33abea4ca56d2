// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/port.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/mpi/check.hpp"

namespace ringcomm::inline v0::transport::mpi {
namespace {

/// MPI wakes nobody, so that sleeps are naps: this long at most.
constexpr std::chrono::microseconds kNapMax{1'000};
/// With a transfer under way MPI needs calls to move it; this many naps only give the core away.
constexpr int kYieldsWhileMoving = 2'000;
/// How long a port that goes waits for the others to have read what it sent.
constexpr std::int64_t kGoodbyeNs = 2'000'000'000;

bool is_finalised() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  return finalised != 0;
}

}  // namespace

Result<MPI_Comm> duplicate(MPI_Comm comm, std::string_view who, Deadline deadline) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  RINGCOMM_TRY(to_status(MPI_Comm_idup(comm, &copy, &request), "MPI_Comm_idup"));
  for (;;) {
    int is_done = 0;
    RINGCOMM_TRY(to_status(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Comm_idup"));
    if (is_done != 0) break;
    if (deadline.is_expired()) {
      return Status::timeout(
          concat(who, ": not all ranks of the MPI communicator have called it before the deadline"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  RINGCOMM_TRY(to_status(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  return copy;
}

Status MpiPort::can_serve(const Bootstrap& bootstrap) const {
  if (bootstrap.kind() == GroupKind::threads)
    return Status::not_available("mpi serves ranks that are MPI processes (these are threads)");
  RINGCOMM_TRY(check_usable());
  int is_initialised = 0;
  MPI_Initialized(&is_initialised);
  if (is_initialised == 0) return {};  // connect() looks again
  int size = 0;
  RINGCOMM_TRY(
      to_status(MPI_Comm_size(parent_ == MPI_COMM_NULL ? MPI_COMM_WORLD : parent_, &size), "MPI_Comm_size"));
  if (size == bootstrap.size()) return {};
  return Status::not_available(concat("the MPI communicator has ", size, " ranks, the group ",
                                      bootstrap.size(), " (mpi needs one for each)"));
}

Status MpiPort::connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) {
  RINGCOMM_TRY(initialise());
  RINGCOMM_TRY(can_serve(bootstrap));
  if (parent_ == MPI_COMM_NULL) parent_ = MPI_COMM_WORLD;
  RINGCOMM_TRY_ASSIGN(const MPI_Comm own, duplicate(parent_, "connect over mpi", deadline));
  state_ = std::make_unique<State>(own);
  sink_ = &sink;
  RINGCOMM_TRY(learn_ranks(bootstrap, deadline));
  void* bound = nullptr;
  int has_bound = 0;
  MPI_Comm_get_attr(own, MPI_TAG_UB, &bound, &has_bound);
  tags_ = has_bound != 0 ? *static_cast<int*>(bound) : 32'767;
  return state_->mailbox.open();
}

Status MpiPort::learn_ranks(Bootstrap& bootstrap, Deadline deadline) {
  int mine = 0;
  RINGCOMM_TRY(to_status(MPI_Comm_rank(state_->comm, &mine), "MPI_Comm_rank"));
  RINGCOMM_TRY_ASSIGN(const auto all, bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)), deadline));
  ranks_.assign(all.size(), -1);
  mpi_ranks_.assign(all.size(), -1);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    int theirs = -1;
    if (all[rank].size() == sizeof(theirs)) std::memcpy(&theirs, all[rank].data(), sizeof(theirs));
    const auto place = static_cast<std::size_t>(theirs);
    if (theirs < 0 || place >= all.size() || ranks_[place] >= 0)
      return Status::mismatch(concat("rank ", rank, " says that it is MPI rank ", theirs,
                                     ", which is none or another's (is it the same communicator?)"));
    mpi_ranks_[rank] = theirs;
    ranks_[place] = static_cast<int>(rank);
  }
  return {};
}

MpiPort::~MpiPort() {
  if (state_ == nullptr) return;
  // What MPI may still touch must stay: leaked, as MPI itself would.
  if (is_finalised() || !finish(*state_)) (void)state_.release();
}

bool MpiPort::finish(State& state) {
  if (state.requests.active() > 0) return false;
  MPI_Request all_here = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(state.comm, &all_here) != MPI_SUCCESS) return false;
  const Deadline deadline = Deadline::at_ns(now_ns() + kGoodbyeNs);
  for (;;) {
    int is_done = 0;
    const auto ignore = [](int, std::span<const std::byte>) {};
    if (MPI_Test(&all_here, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (!state.mailbox.poll(ignore).is_ok()) return false;
    if (is_done != 0 && !state.mailbox.has_unsent()) break;
    if (deadline.is_expired()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  state.mailbox.close();
  state.requests.free_all();
  return MPI_Comm_free(&state.comm) == MPI_SUCCESS;
}

Status MpiPort::send_control(int peer, std::span<const std::byte> bytes) {
  return state_->mailbox.send(mpi_ranks_[static_cast<std::size_t>(peer)], bytes);
}

Result<TransferId> MpiPort::start(bool is_send, int peer, std::uint64_t tag, std::byte* data,
                                  std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Status::invalid_argument(
        concat("a block of ", bytes, " bytes is more than mpi takes at a time (2 GiB; use smaller blocks)"));
  }
  // The upper half of the tag names the channel. Blocks of one channel match in order, as MPI promises.
  const auto channels = static_cast<std::uint64_t>(tags_);
  const int folded = 1 + static_cast<int>((tag >> 32U) % channels);
  return state_->requests.start({.is_send = is_send,
                                 .peer = mpi_ranks_[static_cast<std::size_t>(peer)],
                                 .tag = folded,
                                 .data = data,
                                 .bytes = static_cast<int>(bytes)});
}

Result<TransferId> MpiPort::send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) {
  return start(true, peer, tag, const_cast<std::byte*>(data), bytes);
}

Result<TransferId> MpiPort::receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) {
  return start(false, peer, tag, data, bytes);
}

Result<bool> MpiPort::is_done(TransferId transfer) {
  Result<bool> done = state_->requests.is_done(transfer);
  if (done.is_ok() && done.value()) quiet_sleeps_ = 0;
  return done;
}

Result<bool> MpiPort::progress() {
  Result<bool> has_come = state_->mailbox.poll([this](int source, std::span<const std::byte> bytes) {
    sink_->on_control(ranks_[static_cast<std::size_t>(source)], bytes);
  });
  if (has_come.is_ok() && has_come.value()) quiet_sleeps_ = 0;
  return has_come;
}

void MpiPort::sleep(std::chrono::microseconds at_most) {
  ++quiet_sleeps_;
  if (state_->requests.active() > 0 && quiet_sleeps_ < kYieldsWhileMoving) {
    sched_yield();
    return;
  }
  const std::chrono::microseconds nap =
      std::min({at_most, kNapMax, std::chrono::microseconds(20) * quiet_sleeps_});
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, nap, [this] { return is_woken_; });
  is_woken_ = false;
}

void MpiPort::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  woken_.notify_all();
}

}  // namespace ringcomm::inline v0::transport::mpi
