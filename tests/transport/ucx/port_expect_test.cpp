// SPDX-License-Identifier: Apache-2.0
// What is expected before it comes lies where it was expected; what was taken back goes nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "ringcomm/core/text.hpp"
#include "transport/ucx/port_harness.hpp"

namespace ringcomm {
namespace {

using test::PortRank;
using test::UcxWay;

constexpr std::size_t kSizes[] = {5000, 65'536, 200'000, (1U << 20) + 3};
constexpr std::uint64_t kTag = 3ULL << 32;

std::vector<std::byte> block(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + bytes + (i >> 8));
  return data;
}

std::string send_all(PortRank& self) {
  std::vector<std::vector<std::byte>> sent;
  std::vector<TransferId> transfers;
  if (!self.wait([&] { return !self.sink.controls.empty(); })) return "not told to begin";
  for (const std::size_t bytes : kSizes) {
    sent.push_back(block(bytes));
    const auto posted = self.port->send_announced(1, block(20), kTag + bytes, sent.back().data(), bytes);
    if (!posted.is_ok()) return posted.status().to_string();
    transfers.push_back(posted.value());
  }
  return self.finish(transfers).is_ok() ? "" : "sends failed";
}

/// `is_forgotten`: what was expected is taken back before anything comes.
std::string receive_all(PortRank& self, bool is_forgotten, bool is_eager_at_once) {
  std::vector<std::vector<std::byte>> expected, received;
  std::vector<TransferId> transfers;
  for (const std::size_t bytes : kSizes) {
    expected.emplace_back(bytes);
    received.emplace_back(bytes);
    self.port->expect(0, kTag + bytes, expected.back().data(), bytes);
  }
  if (is_forgotten) self.port->cancel();
  if (!self.port->send_control(0, block(1)).is_ok()) return "cannot tell";
  if (!self.wait([&] { return self.sink.controls.size() == std::size(kSizes); })) return "nothing came";
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    const bool is_there = expected[i] == block(kSizes[i]);
    if (is_forgotten && std::ranges::any_of(expected[i], [](std::byte b) { return b != std::byte{}; }))
      return concat("written after it was taken back: ", kSizes[i]);
    if (!is_forgotten && is_eager_at_once && kSizes[i] <= 256U << 10 && !is_there)
      return concat("not where it was expected: ", kSizes[i]);
  }
  auto& target = is_forgotten ? received : expected;
  for (std::size_t i = std::size(kSizes); i-- > 0;) {
    const auto posted = self.port->receive(0, kTag + kSizes[i], target[i].data(), kSizes[i]);
    if (!posted.is_ok()) return posted.status().to_string();
    transfers.push_back(posted.value());
  }
  if (const Status done = self.finish(transfers); !done.is_ok()) return done.to_string();
  for (std::size_t i = 0; i < std::size(kSizes); ++i)
    if (target[i] != block(kSizes[i])) return concat("wrong bytes in ", kSizes[i]);
  for (const auto& memory : expected) {  // also where data came after what announced it
    if (is_forgotten && std::ranges::any_of(memory, [](std::byte b) { return b != std::byte{}; }))
      return concat("written after it was taken back: ", memory.size());
  }
  return "";
}

class UcxExpectTest : public testing::TestWithParam<UcxWay> {};

TEST_P(UcxExpectTest, BlocksLieWhereTheyAreExpected) {
  const bool is_tcp = std::string_view(GetParam().name) == "tcp";
  test::run_port_threads(GetParam(), 2, [is_tcp](PortRank& self) {
    return self.rank == 0 ? send_all(self) : receive_all(self, false, is_tcp);
  });
  test::run_port_processes(GetParam(), 2, [is_tcp](PortRank& self, const auto&) {
    return self.rank == 0 ? send_all(self) : receive_all(self, false, is_tcp);
  });
}

TEST_P(UcxExpectTest, WhatIsTakenBackIsNotWritten) {
  test::run_port_threads(GetParam(), 2, [](PortRank& self) {
    return self.rank == 0 ? send_all(self) : receive_all(self, true, false);
  });
}

void progress_for(PortRank& self, int ms) {
  self.wait([end = Deadline::after(std::chrono::milliseconds(ms))] { return end.is_expired(); });
}

/// A sender that stops half way, and goes on when the receiver has given up.
std::string send_in_two_parts(PortRank& self) {
  const std::vector<std::byte> data(8U << 20, std::byte{1});
  if (!self.wait([&] { return !self.sink.controls.empty(); })) return "not told to begin";
  if (!self.port->send(1, kTag, data.data(), data.size()).is_ok()) return "no send";
  for (int i = 0; i < 3; ++i) static_cast<void>(self.port->progress());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  progress_for(self, 700);
  return "";
}

/// `is_half_way`: the way needs the sender for every part, so that the block cannot be here already.
std::string give_up_half_way(PortRank& self, bool is_half_way) {
  std::vector<std::byte> data(8U << 20);
  const auto posted = self.port->receive(0, kTag, data.data(), data.size());
  if (!posted.is_ok() || !self.port->send_control(0, block(1)).is_ok()) return "cannot begin";
  progress_for(self, 150);
  if (is_half_way) {
    const auto done = self.port->is_done(posted.value());
    if (!done.is_ok() || done.value()) return "nothing was left to give up";
  }
  const std::int64_t started_ns = now_ns();
  self.port->cancel();
  if (now_ns() - started_ns > 5'000'000'000) return "took longer than 5 s";
  std::ranges::fill(data, std::byte{0xee});
  progress_for(self, 700);
  self.port.reset();
  return std::ranges::all_of(data, [](std::byte b) { return b == std::byte{0xee}; })
             ? ""
             : "written after cancel()";
}

TEST_P(UcxExpectTest, ABlockThatIsGivenUpIsNotWrittenAnyMore) {
  const bool is_tcp = std::string_view(GetParam().name) == "tcp";
  test::run_port_processes(GetParam(), 2, [is_tcp](PortRank& self, const auto&) {
    return self.rank == 0 ? send_in_two_parts(self) : give_up_half_way(self, is_tcp);
  });
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxExpectTest, testing::ValuesIn(test::ucx_ways()),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace ringcomm
