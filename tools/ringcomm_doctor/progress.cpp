// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <cstdio>
#include <utility>

namespace ringcomm::doctor {

Progress::Progress(std::string what, std::chrono::milliseconds first)
    : what_(std::move(what)), thread_([this, first] { tell(first); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void Progress::tell(std::chrono::milliseconds first) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (auto after = first; !condition_.wait_until(lock, begin + after, [this] { return is_done_; });
       after *= 2) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(after).count();
    std::fprintf(stderr, "%s (%lld s)\n", what_.c_str(), static_cast<long long>(seconds));
  }
}

}  // namespace ringcomm::doctor
