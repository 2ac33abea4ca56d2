// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <thread>
#include <vector>

#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0 {
namespace {

// Keeps the first failure in time; the ones that follow are usually its echoes.
class FirstFailure {
 public:
  void add(int rank, const Status& status) {
    if (status.is_ok()) return;
    const std::lock_guard lock(mutex_);
    if (first_.is_ok()) first_ = Status(status.code(), concat("rank ", rank, ": ", status.message()));
  }
  Status get() const { return first_; }

 private:
  std::mutex mutex_;
  Status first_;
};

// Takes the communicator along, so that a rank that returns early is seen to leave.
void run_rank(Communicator communicator, const std::function<Status(Communicator&)>& body,
              FirstFailure& failure) {
  // Not being bound costs speed only.
  static_cast<void>(bind_this_thread(communicator.placement()).is_ok());
  const int rank = communicator.rank();
  const Status status = comm::guard("the body", [&] { return body(communicator); });
  failure.add(rank, status);
  if (!status.is_ok()) communicator.abort(status.message());
}

}  // namespace

Status run_threads(int ranks, const std::function<Status(Communicator&)>& body,
                   const CommunicatorOptions& options) {
  return comm::guard("run_threads", [&]() -> Status {
    RINGCOMM_TRY_ASSIGN(auto communicators, Communicator::create_local(ranks, options));
    FirstFailure failure;
    {
      std::vector<std::jthread> threads;
      for (Communicator& communicator : communicators) {
        threads.emplace_back([&body, &failure, taken = std::move(communicator)]() mutable {
          run_rank(std::move(taken), body, failure);
        });
      }
    }
    return failure.get();
  });
}

}  // namespace ringcomm::inline v0
