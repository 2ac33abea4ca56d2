// SPDX-License-Identifier: Apache-2.0
// The parent's side of forked ranks: who ended how, who spoke first, and nobody left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::comm {

/// What a child writes into the pipe when its rank has failed: one write of at most PIPE_BUF bytes, so that
/// reports of several children do not mix and keep their order in time.
void write_report(int pipe_fd, int rank, const Status& status);

/// Holds SIGINT and SIGTERM back (those that are not ignored) while it lives, readable from fd().
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  int fd() const { return fd_; }
  /// For the child: the mask as it was.
  void restore_mask() const;
  /// Takes one held signal and keeps it; the destructor raises it again after restoring the mask.
  int take();

 private:
  sigset_t held_{};
  sigset_t before_{};
  int fd_ = -1;
  int taken_ = 0;
};

/// Children that are killed and reaped at the latest when this object goes.
class ChildWatch {
 public:
  /// Ranks of a failed group are released at once; whoever has not ended by then is stuck or stopped.
  static constexpr std::chrono::seconds kGrace{5};
  /// Reports come from `report_fd`, which this object owns.
  explicit ChildWatch(int report_fd) : report_fd_(report_fd) {}
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  void add(pid_t pid);
  /// Waits until all have ended. After the first failure the others have kGrace, then they are killed.
  /// Returns the first failure in time, or aborted after a signal.
  Status wait_all(HeldSignals& signals);

 private:
  struct Child {
    pid_t pid = -1;
    int pidfd = -1;
    bool is_running = true;
  };
  void reap_ended();
  void read_reports();
  void kill_all();
  bool is_any_running() const;
  void keep_first(int rank, const Status& status);

  int report_fd_;
  std::vector<Child> children_;  ///< by rank
  std::vector<bool> has_reported_;
  Status first_;
};

}  // namespace ringcomm::inline v0::comm
