// SPDX-License-Identifier: Apache-2.0
// The UCX port alone: order of control messages, data of many sizes posted before and after it comes, waiting
// without CPU time. The oracle is a pattern computed from sender, number and size.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "ringcomm/core/text.hpp"
#include "transport/ucx/port_harness.hpp"

namespace ringcomm {
namespace {

using test::PortRank;
using test::UcxWay;

std::byte pattern(int rank, std::size_t number, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(rank) * 31 + number * 7 + at + (at >> 8) * 3);
}

std::vector<std::byte> block(int rank, std::size_t number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(rank, number, i);
  return data;
}

class UcxPortTest : public testing::TestWithParam<UcxWay> {};

constexpr std::size_t kControls = 300;

std::string control_in_order(PortRank& self) {
  const auto size_of = [](std::size_t number) { return number * 37 % (MessagePort::kControlBytesMax + 1); };
  for (std::size_t number = 0; number < kControls; ++number) {
    for (int peer = 0; peer < self.ranks; ++peer) {
      const Status sent = self.port->send_control(peer, block(self.rank, number, size_of(number)));
      if (!sent.is_ok()) return sent.to_string();
    }
  }
  const std::size_t due = kControls * static_cast<std::size_t>(self.ranks);
  if (!self.wait([&] { return self.sink.controls.size() >= due; }))
    return concat(self.sink.controls.size(), " of ", due, " came");
  std::vector<std::size_t> next(static_cast<std::size_t>(self.ranks));
  for (const auto& [peer, bytes] : self.sink.controls) {
    if (next[static_cast<std::size_t>(peer)] == kControls) continue;  // the last one, below
    const std::size_t number = next[static_cast<std::size_t>(peer)]++;
    if (bytes != block(peer, number, size_of(number))) return concat("message ", number, " of rank ", peer);
  }
  // Nobody leaves before all have read: over shared memory long messages go with their sender.
  for (int peer = 0; peer < self.ranks; ++peer) static_cast<void>(self.port->send_control(peer, {}));
  const std::size_t with_last = due + static_cast<std::size_t>(self.ranks);
  return self.wait([&] { return self.sink.controls.size() == with_last; }) ? "" : "not all have read";
}

TEST_P(UcxPortTest, ControlMessagesKeepTheirOrder) {
  for (const int ranks : {1, 2, 3, 5}) test::run_port_threads(GetParam(), ranks, control_in_order);
}

TEST_P(UcxPortTest, ControlMessagesKeepTheirOrderBetweenProcesses) {
  for (const int ranks : {2, 4})
    test::run_port_processes(GetParam(), ranks,
                             [](PortRank& self, const auto&) { return control_in_order(self); });
}

constexpr std::size_t kSizes[] = {1, 7, 93, 4096, 8257, 65537, (1U << 20) + 3, 5U << 20};

/// Round the ring; `is_late` posts the receives only when everything may have come.
std::string data_round_the_ring(PortRank& self, bool is_late) {
  const int to = (self.rank + 1) % self.ranks, from = (self.rank + self.ranks - 1) % self.ranks;
  std::vector<std::vector<std::byte>> sent, received;
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    sent.push_back(block(self.rank, i, kSizes[i]));
    received.emplace_back(kSizes[i]);
  }
  std::vector<TransferId> transfers;
  const auto post = [&]() -> Status {
    for (std::size_t i = std::size(kSizes); i-- > 0;) {
      auto posted = self.port->receive(from, i + (1ULL << 40), received[i].data(), kSizes[i]);
      if (!posted.is_ok()) return posted.status();
      transfers.push_back(posted.value());
    }
    return {};
  };
  static_cast<void>(self.port->register_memory(received.back().data(), received.back().size()));
  if (!is_late && !post().is_ok()) return "no receive";
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    auto posted = self.port->send(to, i + (1ULL << 40), sent[i].data(), kSizes[i]);
    if (!posted.is_ok()) return posted.status().to_string();
    transfers.push_back(posted.value());
  }
  if (is_late)
    self.wait([deadline = Deadline::after(std::chrono::milliseconds(50))] { return deadline.is_expired(); });
  if (is_late && !post().is_ok()) return "no receive";
  const Status finished = self.finish(transfers);
  self.port->deregister_memory(received.back().data());
  if (!finished.is_ok()) return finished.to_string();
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    if (received[i] != block(from, i, kSizes[i])) return concat("wrong bytes in size ", kSizes[i]);
  }
  return "";
}

TEST_P(UcxPortTest, DataArrivesInPostedReceives) {
  for (const int ranks : {1, 2, 3, 8})
    test::run_port_threads(GetParam(), ranks,
                           [](PortRank& self) { return data_round_the_ring(self, false); });
}

TEST_P(UcxPortTest, DataWaitsForItsReceive) {
  for (const int ranks : {1, 2, 4})
    test::run_port_processes(GetParam(), ranks,
                             [](PortRank& self, const auto&) { return data_round_the_ring(self, true); });
}

/// Messages 0, 2, 4, ... stand alone, the others announce a block each; some are too long to travel with it.
std::string announced_in_order(PortRank& self) {
  constexpr std::size_t kMessages = 2 * std::size(kSizes);
  const auto size_of = [](std::size_t number) { return number * 13 % 80; };
  const auto tag_of = [](std::size_t number) { return number + (1ULL << 40); };
  const int to = (self.rank + 1) % self.ranks, from = (self.rank + self.ranks - 1) % self.ranks;
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<TransferId> transfers;
  for (std::size_t number = 0; number < kMessages; ++number) {
    const std::size_t bytes = kSizes[number / 2];
    const auto said = block(self.rank, number, size_of(number));
    sent.push_back(block(self.rank, number, bytes));
    received.emplace_back(bytes);
    if (number % 2 == 0) {
      if (const Status told = self.port->send_control(to, said); !told.is_ok()) return told.to_string();
      continue;
    }
    const auto posted = self.port->send_announced(to, said, tag_of(number), sent.back().data(), bytes);
    const auto wanted = self.port->receive(from, tag_of(number), received.back().data(), bytes);
    if (!posted.is_ok() || !wanted.is_ok()) return "not posted";
    transfers.insert(transfers.end(), {posted.value(), wanted.value()});
  }
  if (const Status finished = self.finish(transfers); !finished.is_ok()) return finished.to_string();
  if (!self.wait([&] { return self.sink.controls.size() == kMessages; }))
    return concat(self.sink.controls.size(), " of ", kMessages, " came");
  for (std::size_t number = 0; number < kMessages; ++number) {
    if (self.sink.controls[number] != std::pair(from, block(from, number, size_of(number))))
      return concat("message ", number);
    if (number % 2 == 1 && received[number] != block(from, number, kSizes[number / 2]))
      return concat("block ", number);
  }
  return "";
}

TEST_P(UcxPortTest, AnnouncedBlocksKeepTheirPlaceAmongControlMessages) {
  for (const int ranks : {1, 2, 3}) test::run_port_threads(GetParam(), ranks, announced_in_order);
  test::run_port_processes(GetParam(), 2,
                           [](PortRank& self, const auto&) { return announced_in_order(self); });
}

TEST_P(UcxPortTest, AnotherSizeIsAnErrorOfTheReceiver) {
  test::run_port_threads(GetParam(), 2, [](PortRank& self) -> std::string {
    std::vector<std::byte> data(1000);
    if (self.rank == 0) {
      auto sent = self.port->send(1, 5, data.data(), 999);
      return sent.is_ok() && self.finish({sent.value()}).is_ok() ? "" : "the sender failed";
    }
    auto received = self.port->receive(0, 5, data.data(), 1000);
    const Status status = self.finish({received.value()});
    return status.to_string() == "internal: ucx: rank 0 sent 999 bytes, not 1000, under tag 5"
               ? ""
               : status.to_string();
  });
}

double cpu_seconds_of_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_P(UcxPortTest, AnIdleRankUsesHardlyAnyCpuTime) {
  test::run_port_threads(GetParam(), 2, [](PortRank& self) -> std::string {
    const Deadline end = Deadline::after(std::chrono::seconds(1));
    const double before = cpu_seconds_of_thread();
    int naps = 0;
    while (!end.is_expired()) {
      while (self.port->progress().value()) {
      }
      self.port->sleep(std::chrono::milliseconds(200));
      ++naps;
    }
    const double used = cpu_seconds_of_thread() - before;
    std::printf("rank %d: %.1f ms of CPU in 1 s, %d naps\n", self.rank, used * 1e3, naps);
    return used < 0.3 ? "" : concat("used ", used, " s of CPU in 1 s");
  });
}

TEST_P(UcxPortTest, WakeEndsASleepOfAnotherThreadAndTheNextOne) {
  test::run_port_threads(GetParam(), 1, [](PortRank& self) -> std::string {
    for (const bool is_before : {true, false}) {
      const std::int64_t started_ns = now_ns();
      if (is_before) self.port->wake();
      std::jthread waker([&] {
        if (is_before) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        self.port->wake();
      });
      while (self.port->progress().value()) {
      }
      self.port->sleep(std::chrono::seconds(20));
      if (now_ns() - started_ns > 10'000'000'000) return "slept on";
    }
    return "";
  });
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxPortTest, testing::ValuesIn(test::ucx_ways()),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace ringcomm
