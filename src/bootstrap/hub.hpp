// SPDX-License-Identifier: Apache-2.0
// The middle of a meeting over TCP: a star whose centre admits the ranks, gathers what they bring and
// answers.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/doorman.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

struct HubOptions {
  Secret secret{};
  std::string name;   ///< "tcp://10.0.0.1:5000", for messages
  int size = 0;       ///< 0: the first rank says it
  Deadline deadline;  ///< until all have met
};

/// Runs in one thread, never blocks on one connection. Its port is closed as soon as all ranks are there. It
/// ends when all have left, or a moment after a failure, which everybody is told.
class Hub {
 public:
  static Result<std::shared_ptr<Hub>> create(UniqueFd listener, HubOptions options);

  void run();
  /// From any thread: run() returns soon, after what is due has been sent or a second has passed.
  void stop();
  bool has_ended() const { return has_ended_; }
  /// From any thread: false while an answer has not been handed to the system.
  bool is_flushed() const { return is_flushed_; }
  const Secret& secret() const { return options_.secret; }

 private:
  struct Member {
    UniqueFd socket;
    Hello hello;
    Endpoint from;
    FrameReader reader{kContributionBytesMax};
    Outbox outbox;
    Bytes contribution;
    bool has_come = false;  ///< admitted once; the socket closes when it leaves
    bool has_contributed = false;
  };

  Hub(UniqueFd listener, HubOptions options, UniqueFd wake);
  void wait();
  void step();
  bool has_finished();
  void admit(Visitor& visitor);
  bool admit_size(const Visitor& visitor);
  void form();
  void hear(Member& member);
  void accept_frame(Member& member);
  void lose(Member& member);
  void answer_if_complete();
  void flush();
  void fail(Status reason);
  Status timed_out(std::int64_t waited_ms) const;
  std::string who(const Member& member) const;
  int members_with(bool (*is)(const Member&)) const;

  Doorman doorman_;
  HubOptions options_;
  std::mutex wake_mutex_;
  UniqueFd wake_;  ///< closed at the end of run()
  std::int64_t began_ns_ = now_ns();
  std::vector<Member> members_;  ///< one per rank once the size is known
  bool has_formed_ = false;
  std::uint32_t sequence_ = 1;  ///< of the all_gather that is going on or comes next
  Status failure_;
  Deadline linger_;  ///< after a failure: for those who come late
  Deadline stop_by_;
  bool was_stopped_ = false;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_flushed_{true};
};

}  // namespace ringcomm::inline v0::bootstrap
