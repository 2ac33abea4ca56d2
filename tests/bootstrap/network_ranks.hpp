// SPDX-License-Identifier: Apache-2.0
// What the tests of meetings over TCP have in common: free ports, log lines, and what a group must be able to
// do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/group_threads.hpp"
#include "bootstrap/network_meeting.hpp"
#include "bootstrap/tcp_address.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm::test {

inline bootstrap::Endpoint loopback(int port) {
  return bootstrap::resolve({"127.0.0.1", port == 0 ? 1 : port}).value().front().with_port(port);
}

/// A loopback port behind which the next 16 are free now too.
inline int free_port() {
  static int next = 21000 + static_cast<int>(static_cast<unsigned>(::getpid()) * 37U % 9000U);
  for (;; next += 20) {
    std::vector<bootstrap::UniqueFd> held;
    for (int port = next; port <= next + bootstrap::kPortsBehind; ++port) {
      auto socket = bootstrap::listen_at(loopback(port));
      if (!socket.is_ok()) break;
      held.push_back(std::move(socket).value());
    }
    if (held.size() == bootstrap::kPortsBehind + 1) break;
    if (next > 60000) next = 15000;
  }
  next += 20;
  return next - 20;
}

/// Waits until the short-lived threads of earlier meetings are gone: with them go their descriptors.
inline void wait_for_hubs() {
  for (int i = 0; i < 8000 && threads_of_this_process() > 1; ++i) ::usleep(1000);
  EXPECT_EQ(threads_of_this_process(), 1);
}

/// Three all_gathers of different lengths; ok when every byte of every rank came.
inline Status gather_and_compare(Bootstrap& group, Deadline deadline) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{0}, std::size_t{70'001}}) {
    const auto of = [&](int rank) {
      return contribution(rank, bytes == 0 ? 0 : bytes + static_cast<std::size_t>(rank));
    };
    auto all = group.all_gather(of(group.rank()), deadline);
    if (!all.is_ok()) return all.status();
    for (int peer = 0; peer < group.size(); ++peer) {
      if (all.value()[static_cast<std::size_t>(peer)] == of(peer)) continue;
      return Status::internal("wrong bytes of rank " + std::to_string(peer));
    }
  }
  return {};
}

/// Keeps what is logged while it lives.
class LogLines {
 public:
  LogLines() {
    set_log_sink([this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    });
  }
  ~LogLines() { set_log_sink({}); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  std::vector<std::string> with(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& line : lines_) {
      if (line.find(text) != std::string::npos) found.push_back(line);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace ringcomm::test
