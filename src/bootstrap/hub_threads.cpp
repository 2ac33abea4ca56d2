// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/hub_threads.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

/// Blocked in the new thread: the program's handlers run in the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

class HubThreads {
 public:
  static HubThreads& instance() {
    static HubThreads threads;
    return threads;
  }
  ~HubThreads() {
    if (!is_ours()) return;  // a forked child has the list but none of the threads
    for (const Entry& entry : *entries_) entry.hub->stop();
    for (Entry& entry : *entries_) entry.thread.join();
    delete entries_;
  }
  HubThreads(const HubThreads&) = delete;
  HubThreads& operator=(const HubThreads&) = delete;

  Status start(std::shared_ptr<Hub> hub) {
    const std::lock_guard lock(mutex_);
    if (!is_ours()) adopt();
    reap();
    try {
      const SignalsBlocked blocked;
      std::thread thread([hub] { hub->run(); });
      entries_->push_back({std::move(hub), std::move(thread)});
    } catch (const std::system_error& error) {
      return Status::not_available(
          concat("the thread of a meeting place could not be started: ", error.what(), " (ulimit -u?)"));
    }
    return {};
  }
  std::shared_ptr<Hub> find(const Secret& secret) {
    const std::lock_guard lock(mutex_);
    if (!is_ours()) return nullptr;
    const auto at = std::ranges::find_if(
        *entries_, [&](const Entry& e) { return !e.hub->has_ended() && e.hub->secret() == secret; });
    return at == entries_->end() ? nullptr : at->hub;
  }
  void reap_ended() {
    const std::lock_guard lock(mutex_);
    if (is_ours()) reap();
  }

 private:
  struct Entry {
    std::shared_ptr<Hub> hub;
    std::thread thread;
  };
  HubThreads() = default;
  bool is_ours() const { return ::getpid() == pid_; }
  void adopt() {
    entries_ = new std::vector<Entry>();  // the parent's stays as it is: destroying its threads would abort
    pid_ = ::getpid();
  }
  void reap() {
    for (Entry& entry : *entries_) {
      if (entry.hub->has_ended()) entry.thread.join();
    }
    std::erase_if(*entries_, [](const Entry& entry) { return !entry.thread.joinable(); });
  }

  std::mutex mutex_;
  pid_t pid_ = ::getpid();
  std::vector<Entry>* entries_ = new std::vector<Entry>();
};

}  // namespace

Status start_hub(std::shared_ptr<Hub> hub) { return HubThreads::instance().start(std::move(hub)); }

std::shared_ptr<Hub> find_hub(const Secret& secret) { return HubThreads::instance().find(secret); }

void finish(const std::shared_ptr<Hub>& hub) {
  const Deadline patience = Deadline::after(std::chrono::seconds(2));
  while (hub && !hub->has_ended() && !hub->is_flushed() && !patience.is_expired()) {
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
  HubThreads::instance().reap_ended();
}

}  // namespace ringcomm::inline v0::bootstrap
