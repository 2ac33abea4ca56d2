// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/device/worker_team.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/assert.hpp"
#include "device/host/fork_guard.hpp"
#include "device/host/spin.hpp"
#include "device/host/thread.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

using Body = std::function<void(std::int64_t, int)>;

constexpr int kWorkersMax = 1024;

/// The threads of a team and what they share.
///
/// Workers join a round when they wake up in time; whoever sleeps through it is not waited for, because a
/// wake-up (15 to 28 us, performance.md §1) may cost more than the round.
class Crew {
 public:
  Crew() = default;
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  Status start(int workers, const Placement& placement);
  int threads() const { return static_cast<int>(threads_.size()); }
  void run_round(std::int64_t count, const Body& body);

 private:
  void serve(int worker);
  void work(const Body& body, std::int64_t count, int worker);
  void open_round(const Body& body, std::int64_t count);
  void close_round();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable opened_, left_;
  std::atomic<std::uint64_t> round_{0};  ///< written under the mutex, also to announce the end
  std::atomic<int> joined_{0};           ///< written under the mutex
  const Body* body_ = nullptr;           ///< null between rounds
  std::int64_t count_ = 0;
  bool is_ending_ = false;
  std::exception_ptr error_;
  alignas(64) std::atomic<std::int64_t> next_{0};
};

Status Crew::start(int workers, const Placement& placement) {
  threads_.reserve(static_cast<std::size_t>(workers - 1));
  for (int worker = 1; worker < workers; ++worker) {
    Placement own{.cpus = {}, .memory_node = placement.memory_node};
    if (!placement.cpus.empty()) {
      own.cpus = {placement.cpus[static_cast<std::size_t>(worker) % placement.cpus.size()]};
    }
    auto thread = start_thread(concat("rc-team-", worker), own, [this, worker] { serve(worker); });
    if (!thread.is_ok()) return thread.status();
    threads_.push_back(std::move(thread).value());
  }
  return {};
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    round_.fetch_add(1, std::memory_order_release);
    opened_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run_round(std::int64_t count, const Body& body) {
  open_round(body, count);
  work(body, count, 0);
  close_round();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Crew::open_round(const Body& body, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  RINGCOMM_ASSERT(body_ == nullptr);  // one caller at a time, and no round inside a round
  next_.store(0, std::memory_order_relaxed);
  body_ = &body;
  count_ = count;
  round_.fetch_add(1, std::memory_order_release);
  opened_.notify_all();
}

void Crew::close_round() {
  spin_until([this] { return joined_.load(std::memory_order_acquire) == 0; });
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return joined_ == 0; });
  body_ = nullptr;
}

void Crew::work(const Body& body, std::int64_t count, int worker) {
  try {
    while (true) {
      const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      body(index, worker);
    }
  } catch (...) {
    next_.store(count, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Crew::serve(int worker) {
  std::uint64_t seen = 0;
  const auto is_called = [&] { return round_.load(std::memory_order_acquire) != seen; };
  while (true) {
    spin_until(is_called);
    std::unique_lock lock(mutex_);
    opened_.wait(lock, is_called);
    seen = round_;
    if (is_ending_) return;
    if (body_ == nullptr) continue;
    const Body& body = *body_;
    const std::int64_t count = count_;
    ++joined_;
    lock.unlock();
    work(body, count, worker);
    lock.lock();
    if (--joined_ == 0) left_.notify_one();
  }
}

class HostTeam final : public WorkerTeam {
 public:
  explicit HostTeam(std::unique_ptr<Crew> crew) : crew_(std::move(crew)) {}
  /// In a forked child the crew is leaked: joining its threads or destroying what they wait at is undefined.
  ~HostTeam() override {
    if (!is_parent()) static_cast<void>(crew_.release());
  }
  int size() const override { return crew_->threads() + 1; }
  void for_each(std::int64_t count, const Body& body) override {
    if (count > 1 && crew_->threads() > 0 && is_parent()) return crew_->run_round(count, body);
    for (std::int64_t index = 0; index < count; ++index) body(index, 0);
  }

 private:
  bool is_parent() const { return fork_generation_ == fork_generation(); }
  std::unique_ptr<Crew> crew_;
  std::uint32_t fork_generation_ = fork_generation();
};

}  // namespace

Result<std::unique_ptr<WorkerTeam>> WorkerTeam::create(int workers, const Placement& placement) {
  if (workers < 1 || workers > kWorkersMax) {
    return Status::invalid_argument(
        concat("team of ", workers, " workers (from 1, the caller alone, to ", kWorkersMax, ")"));
  }
  auto crew = std::make_unique<Crew>();
  Status status = crew->start(workers, placement);
  if (!status.is_ok()) return status;
  return std::unique_ptr<WorkerTeam>(std::make_unique<HostTeam>(std::move(crew)));
}

}  // namespace ringcomm::inline v0
