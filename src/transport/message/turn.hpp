// SPDX-License-Identifier: Apache-2.0
// Whose turn it is at the port: one thread moves the network on, those beside it sleep until it has.
#pragma once

#include <mutex>

#include "transport/message/core.hpp"

namespace ringcomm::inline v0::transport::message {

/// Holds the lock of the core, from construction to destruction but for the inside of step().
class Turn {
 public:
  explicit Turn(Core& core);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Moves the network on, or lets some time pass if there is nothing to move: spins, yields, sleeps in the
  /// port, or sleeps while another thread does all this. True now and then, and after each sleep: time to
  /// look around.
  bool step(Deadline deadline);

 private:
  void acquire();
  void follow(Deadline deadline);
  void sleep(Deadline deadline);
  /// Lets those who want the lock have it.
  void offer();

  Core& core_;
  std::unique_lock<std::mutex> lock_;
  bool leads_ = false;
  int steps_ = 0;
  int idle_ = 0;  ///< steps since something moved
};

}  // namespace ringcomm::inline v0::transport::message
