// SPDX-License-Identifier: Apache-2.0
// A line on standard error when something takes longer than a person waits in silence.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ringcomm::doctor {

/// Prints "`what` (2 s)" after `first`, and again each time it has taken twice as long, until destroyed.
class Progress {
 public:
  explicit Progress(std::string what, std::chrono::milliseconds first = std::chrono::seconds(2));
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void tell(std::chrono::milliseconds first);

  std::string what_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_done_ = false;
  std::thread thread_;
};

}  // namespace ringcomm::doctor
