// SPDX-License-Identifier: Apache-2.0
// Peers that are killed, stop or leave, paths that do not exist, and what a port leaves behind. The oracles
// are the rank that was killed and the process's own descriptors, threads, mappings and signal handlers.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "transport/ucx/port_harness.hpp"

namespace ringcomm {
namespace {

using test::PortRank;
using test::UcxWay;

class UcxPortFaultsTest : public testing::TestWithParam<UcxWay> {};

std::vector<std::byte> word(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Everybody has heard everybody after this; `PortRank::wait` alone would let a rank leave too early.
bool meet(PortRank& self) {
  const std::size_t before = self.sink.controls.size();
  for (int peer = 0; peer < self.ranks; ++peer) {
    if (!self.port->send_control(peer, word("here")).is_ok()) return false;
  }
  return self.wait(
      [&] { return self.sink.controls.size() >= before + static_cast<std::size_t>(self.ranks); });
}

TEST_P(UcxPortFaultsTest, AKilledPeerIsNamedByEverybody) {
  test::run_port_processes(
      GetParam(), 3,
      [](PortRank& self, const test::RankVoice& voice) -> std::string {
        if (!meet(self)) return "did not meet";
        std::vector<std::byte> data(4U << 20);
        // In flight when it happens: both are let go of by the destructor.
        static_cast<void>(self.port->send(1, 1, data.data(), data.size()));
        static_cast<void>(self.port->receive(1, 2, data.data(), data.size()));
        voice.say("ready");
        if (self.rank == 1) {
          while (true) ::pause();
        }
        // The other survivor may have left as well when this one looks.
        const auto find_killed = [&] {
          return std::ranges::find_if(self.sink.lost, [](const auto& lost) { return lost.first == 1; });
        };
        if (!self.wait([&] { return find_killed() != self.sink.lost.end(); })) return "heard of no loss";
        voice.say("lost");
        if (find_killed()->second.code() != StatusCode::peer_lost) return find_killed()->second.to_string();
        const Status refused = self.port->send_control(1, word("hello?"));
        return refused.code() == StatusCode::peer_lost ? "" : "sent to a dead rank: " + refused.to_string();
      },
      [](test::ProcessRanks& processes) {
        for (int rank = 0; rank < 3; ++rank)
          ASSERT_TRUE(processes.has_said(rank, "ready", std::chrono::seconds(30)));
        const std::int64_t killed_ns = now_ns();
        processes.send_signal(1, SIGKILL);
        for (const int rank : {0, 2}) {
          EXPECT_TRUE(processes.has_said(rank, "lost", std::chrono::seconds(20)));
          std::printf("rank %d knew after %.0f ms\n", rank, static_cast<double>(now_ns() - killed_ns) * 1e-6);
        }
        for (const int rank : {0, 2}) {
          const auto report = processes.wait(rank, std::chrono::seconds(30));
          EXPECT_TRUE(report.is_ok()) << rank << ": " << report.to_string();
        }
      });
}

TEST_P(UcxPortFaultsTest, ALeavingRanksLastWordComesBeforeItsLoss) {
  test::run_port_processes(GetParam(), 2, [](PortRank& self, const auto&) -> std::string {
    if (!meet(self)) return "did not meet";
    const auto last_word = word(concat(std::string(500, 'b'), "ye"));
    std::vector<std::byte> block(3000, std::byte{7});
    if (self.rank == 1) {
      const auto sent = self.port->send(0, 9, block.data(), block.size());
      if (!sent.is_ok() || !self.finish({sent.value()}).is_ok()) return "no block sent";
      return self.port->send_control(0, last_word).to_string().substr(2);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it has gone before this rank looks
    if (!self.wait([&] { return !self.sink.lost.empty(); })) return "heard of no loss";
    if (self.sink.controls.back().second != last_word) return "lost before its last word";
    if (self.sink.lost.empty()) return "not lost";
    std::vector<std::byte> received(block.size());
    const auto late = self.port->receive(1, 9, received.data(), received.size());
    if (!late.is_ok()) return late.status().to_string();
    const Status status = self.finish({late.value()});
    return status.is_ok() && received == block ? "" : "its block is lost: " + status.to_string();
  });
}

TEST_P(UcxPortFaultsTest, TransfersThatNobodyTakesDoNotHoldThePort) {
  const std::int64_t started_ns = now_ns();
  test::run_port_threads(GetParam(), 2, [](PortRank& self) -> std::string {
    std::vector<std::byte> data(8U << 20);
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      if (!self.port->send(1 - self.rank, tag, data.data(), data.size() >> (tag * 5)).is_ok())
        return "no send";
      if (!self.port->receive(1 - self.rank, tag + 100, data.data(), data.size()).is_ok())
        return "no receive";
    }
    if (!meet(self)) return "did not meet";
    self.port.reset();
    return "";
  });
  EXPECT_LT(now_ns() - started_ns, 20'000'000'000);
}

struct Footprint {
  int descriptors = test::open_descriptors(), threads = test::threads_of_this_process(),
      mappings = test::mappings_with("");
};

TEST_P(UcxPortFaultsTest, AHundredPortsLeaveNothingBehind) {
  const auto cycle = [&] {
    test::run_port_threads(GetParam(), 2,
                           [](PortRank& self) { return std::string(meet(self) ? "" : "did not meet"); });
  };
  for (int i = 0; i < 10; ++i) cycle();
  const Footprint before;
  for (int i = 0; i < 100; ++i) cycle();
  const Footprint after;
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.mappings, before.mappings + test::kHeapMappings);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxPortFaultsTest, testing::ValuesIn(test::ucx_ways()),
                         [](const auto& way) { return std::string(way.param.name); });

TEST(UcxPluginTest, LoadingUcxChangesNoSignalHandlerAndNoVariable) {
  const auto handlers = [] {
    std::vector<std::uintptr_t> found;
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
      struct sigaction action {};
      ::sigaction(number, nullptr, &action);
      found.push_back(reinterpret_cast<std::uintptr_t>(action.sa_handler));
    }
    return found;
  };
  const auto before = handlers();
  test::run_port_threads(test::ucx_ways()[2], 2,
                         [](PortRank& self) { return std::string(meet(self) ? "" : "did not meet"); });
  EXPECT_GT(test::mappings_with("libucs.so"), 0);
  EXPECT_GT(test::mappings_with(transport::plugin_file("ucx").substr(0, 15)), 0);
  EXPECT_EQ(handlers(), before);
  EXPECT_EQ(std::getenv("UCX_HANDLE_ERRORS"), nullptr);
}

/// What every rank of two hears from connect().
std::vector<std::string> connect_errors() {
  auto groups = check(bootstrap_threads(2));
  auto make = check(transport::load_plugin(transport::ucx_plugin()));
  std::vector<std::string> heard(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      test::NotedSink sink;
      heard[i] = make()->connect(*groups[i], sink, test::in_seconds(30)).to_string();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

TEST(UcxPluginTest, APathThatDoesNotExistIsAnErrorOnAllRanks) {
  const test::EnvGuard tls("UCX_TLS", "tcp");
  const test::EnvGuard devices("UCX_NET_DEVICES", "pigeon0");
  for (const std::string& error : connect_errors()) {
    EXPECT_NE(error.find("UCX_NET_DEVICES"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 0: ucx: "), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace ringcomm
