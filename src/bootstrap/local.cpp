// SPDX-License-Identifier: Apache-2.0
// Threads of one process as a group: a round of all_gather under one lock, and a table of shared objects.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

using Contributions = std::vector<std::vector<std::byte>>;
constexpr std::size_t kContributionBytesMax = std::size_t{1} << 20;

/// Rounds cannot overlap: a rank that waits for round k has not joined round k + 1.
class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks) : joined_(static_cast<std::size_t>(ranks)), left_(joined_.size()) {
    contributions_.resize(joined_.size());
  }
  int size() const { return static_cast<int>(joined_.size()); }

  Result<Contributions> gather(int rank, std::span<const std::byte> mine, Deadline deadline);
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>& make);
  void leave(int rank);

 private:
  std::string missing(const std::vector<bool>& only) const;
  Status check_left() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> joined_;  ///< this round
  std::vector<bool> left_;    ///< for good
  Contributions contributions_;
  std::shared_ptr<const Contributions> gathered_;  ///< of the last finished round
  std::uint64_t round_ = 0;
  Status broken_;  ///< a round failed; the group is of no use any more
  std::map<std::string, std::shared_ptr<void>, std::less<>> objects_;
};

std::string ThreadGroup::missing(const std::vector<bool>& only) const {
  std::string list;
  for (std::size_t r = 0; r < joined_.size(); ++r) {
    if (!joined_[r] && only[r]) list += concat(list.empty() ? "" : ", ", r);
  }
  return list;
}

Status ThreadGroup::check_left() const {
  const std::string gone = missing(left_);
  if (gone.empty()) return {};
  return Status::peer_lost(concat("rank ", gone, " of ", size(), " left the group before all had met"));
}

Result<Contributions> ThreadGroup::gather(int rank, std::span<const std::byte> mine, Deadline deadline) {
  if (mine.size() > kContributionBytesMax) {
    return Status::invalid_argument(
        concat("all_gather of ", mine.size(), " bytes (at most ", kContributionBytesMax, " are possible)"));
  }
  const auto index = static_cast<std::size_t>(rank);
  std::unique_lock lock(mutex_);
  RINGCOMM_TRY(broken_);
  contributions_[index].assign(mine.begin(), mine.end());
  joined_[index] = true;
  if (std::find(joined_.begin(), joined_.end(), false) == joined_.end()) {
    gathered_ =
        std::make_shared<const Contributions>(std::exchange(contributions_, Contributions(joined_.size())));
    joined_.assign(joined_.size(), false);
    ++round_;
    changed_.notify_all();
    return *gathered_;
  }
  const std::uint64_t round = round_;
  const std::int64_t started_ns = now_ns();
  while (round_ == round && broken_.is_ok()) {
    if (Status status = check_left(); !status.is_ok()) {
      broken_ = std::move(status);
    } else if (deadline.is_expired()) {
      broken_ = Status::timeout(concat("rank ", missing(std::vector<bool>(joined_.size(), true)), " of ",
                                       size(), " did not join the group within ",
                                       (now_ns() - started_ns) / 1'000'000, " ms"));
    } else {
      constexpr std::int64_t kSliceNs = 1'000'000'000;
      changed_.wait_for(lock, std::chrono::nanoseconds(std::min(deadline.remaining_ns(), kSliceNs)));
    }
  }
  if (round_ != round) return *gathered_;
  changed_.notify_all();
  return broken_;
}

Result<std::shared_ptr<void>> ThreadGroup::shared_object(std::string_view key,
                                                         const std::function<std::shared_ptr<void>()>& make) {
  const std::lock_guard lock(mutex_);
  auto found = objects_.find(key);
  if (found == objects_.end()) found = objects_.emplace(std::string(key), make()).first;
  return found->second;
}

void ThreadGroup::leave(int rank) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~ThreadBootstrap() override { group_->leave(rank_); }
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  GroupKind kind() const override { return GroupKind::threads; }
  Result<Contributions> all_gather(std::span<const std::byte> mine, Deadline deadline) override {
    return group_->gather(rank_, mine, deadline);
  }
  Result<int> take_socket(int) override {
    return Status::not_available("threads of one process have no sockets between them");
  }
  Result<int> peer_pid(int) const override {
    return Status::not_available("threads of one process have no process of their own");
  }
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>& make) override {
    return group_->shared_object(key, make);
  }

 private:
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Bootstrap>>> bootstrap_threads(int ranks) {
  if (ranks < 1)
    return Status::invalid_argument(concat("a group of ", ranks, " ranks (at least 1 is needed)"));
  const auto group = std::make_shared<ThreadGroup>(ranks);
  std::vector<std::unique_ptr<Bootstrap>> handles;
  for (int r = 0; r < ranks; ++r) handles.push_back(std::make_unique<ThreadBootstrap>(group, r));
  return handles;
}

}  // namespace ringcomm::inline v0
