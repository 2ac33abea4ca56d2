// SPDX-License-Identifier: Apache-2.0
// Ranks over a bare UCX port, as threads or as forked processes, over each way that UCX can go on one host.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/env_guard.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/transport/message_port.hpp"
#include "support/process_ranks.hpp"
#include "transport/registry.hpp"

namespace ringcomm::test {

inline Deadline in_seconds(int seconds) { return Deadline::after(std::chrono::seconds(seconds)); }

/// Writes down what a port delivers.
struct NotedSink : MessageSink {
  void on_control(int peer, std::span<const std::byte> bytes) override {
    controls.emplace_back(peer, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  void on_peer_lost(int peer, Status reason) override { lost.emplace_back(peer, std::move(reason)); }
  std::vector<std::pair<int, std::vector<std::byte>>> controls;
  std::vector<std::pair<int, Status>> lost;
};

struct PortRank {
  int rank = 0, ranks = 0;
  NotedSink sink;
  std::unique_ptr<MessagePort> port;

  /// Progresses and sleeps until `is_met`; false after `seconds`.
  bool wait(const std::function<bool()>& is_met, int seconds = 30) {
    const Deadline deadline = in_seconds(seconds);
    while (!is_met()) {
      const auto moved = port->progress();
      if (!moved.is_ok() || deadline.is_expired()) return false;
      if (!moved.value()) port->sleep(std::chrono::milliseconds(10));
    }
    return true;
  }
  /// Until all are done; the first failure.
  Status finish(std::vector<TransferId> transfers, int seconds = 30) {
    Status failure;
    const bool is_all = wait(
        [&] {
          std::erase_if(transfers, [&](TransferId transfer) {
            const auto done = port->is_done(transfer);
            if (!done.is_ok() && failure.is_ok()) failure = done.status();
            return !done.is_ok() || done.value();
          });
          return transfers.empty();
        },
        seconds);
    if (failure.is_ok() && !is_all) return Status::timeout("transfers did not end");
    return failure;
  }
};

/// "" when the rank found everything as it should be.
using PortBody = std::function<std::string(PortRank&)>;

inline std::string run_port_rank(Bootstrap& group, const PortBody& body) {
  auto make = transport::load_plugin(transport::ucx_plugin());
  if (!make.is_ok()) return make.status().to_string();
  PortRank self{.rank = group.rank(), .ranks = group.size(), .sink = {}, .port = make.value()()};
  const Status status = self.port->connect(group, self.sink, in_seconds(30));
  return status.is_ok() ? body(self) : status.to_string();
}

/// How UCX is to go.
struct UcxWay {
  const char* name;
  std::optional<std::string> tls;  ///< UCX_TLS
};
inline const std::vector<UcxWay>& ucx_ways() {
  static const std::vector<UcxWay> ways{{"tcp", "tcp"}, {"posix", "posix,self"}, {"automatic", std::nullopt}};
  return ways;
}

inline void run_port_threads(const UcxWay& way, int ranks, const PortBody& body) {
  const EnvGuard tls("UCX_TLS", way.tls);
  auto groups = check(bootstrap_threads(ranks));
  std::vector<std::string> outcomes(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i)
    threads.emplace_back([&, i] { outcomes[i] = run_port_rank(*groups[i], body); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < outcomes.size(); ++i) EXPECT_EQ(outcomes[i], "") << "rank " << i;
}

/// `watch` runs in the parent meanwhile.
inline void run_port_processes(
    const UcxWay& way, int ranks, const std::function<std::string(PortRank&, const RankVoice&)>& body,
    const std::function<void(ProcessRanks&)>& watch = [](ProcessRanks& processes) {
      EXPECT_EQ(failures_of(processes.wait_all(std::chrono::seconds(60))), "");
    }) {
  const EnvGuard tls("UCX_TLS", way.tls);
  ForkedMesh mesh = check(ForkedMesh::create(ranks));
  ProcessRanks processes(ranks, [&](int rank, const RankVoice& voice) {
    auto group = mesh.take(rank);
    if (!group.is_ok()) return group.status().to_string();
    return run_port_rank(*group.value(), [&](PortRank& self) { return body(self, voice); });
  });
  watch(processes);
}

}  // namespace ringcomm::test
