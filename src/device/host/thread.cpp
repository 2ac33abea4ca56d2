// SPDX-License-Identifier: Apache-2.0
#include "device/host/thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

#include "device/host/memory_policy.hpp"
#include "device/host/spin.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0 {
namespace {

/// A new thread inherits the mask of its maker.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

constexpr int kCpusMax = 1 << 16;

Status set_affinity(const std::vector<int>& cpus) {
  const auto [least, most] = std::minmax_element(cpus.begin(), cpus.end());
  if (*least < 0 || *most >= kCpusMax) {
    return Status::invalid_argument(concat("thread cannot be bound to CPU ", *least < 0 ? *least : *most,
                                           " (CPUs are numbered from 0 to ", kCpusMax - 1, ")"));
  }
  const auto count = static_cast<std::size_t>(*most) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  if (set == nullptr) return Status::out_of_memory("no memory for a set of CPUs");
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), CPU_ALLOC_SIZE(count), set.get());
  if (sched_setaffinity(0, CPU_ALLOC_SIZE(count), set.get()) == 0) return {};
  return Status::not_available(concat("thread cannot be bound to ", cpus.size(), " CPUs from ", *least,
                                      " to ", *most, ": ", std::system_category().message(errno),
                                      " (does this process's affinity or cpuset allow them?)"));
}

}  // namespace

Status bind_this_thread(const Placement& placement) {
  if (!placement.cpus.empty()) {
    Status status = set_affinity(placement.cpus);
    if (!status.is_ok()) return status;
  }
  prefer_memory_node_of_this_thread(placement.memory_node);
  return {};
}

Result<std::thread> start_thread(const std::string& name, const Placement& placement,
                                 std::function<void()> body) {
  static_cast<void>(spin_pauses());  // reads limits from files once: here, not in a worker's first wait
  std::promise<Status> bound;
  std::future<Status> answer = bound.get_future();
  std::thread thread;
  try {
    const BlockSignals blocked;
    thread = std::thread([&name, &placement, body = std::move(body), bound = std::move(bound)]() mutable {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      Status status = bind_this_thread(placement);
      const bool is_bound = status.is_ok();
      bound.set_value(std::move(status));
      if (is_bound) body();
    });
  } catch (const std::system_error& error) {
    return Status::not_available(
        concat("thread ", name, " could not be started: ", error.what(), " (a limit on threads? ulimit -u)"));
  }
  Status status = answer.get();
  if (status.is_ok()) return thread;
  thread.join();
  return status;
}

}  // namespace ringcomm::inline v0
