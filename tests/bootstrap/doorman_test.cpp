// SPDX-License-Identifier: Apache-2.0
// Strangers of five kinds come to a port by the thousand, before and while a group forms; the group's
// all_gather, the counts in the log and this process's descriptors are the oracle.
#include "bootstrap/doorman.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <set>

#include "bootstrap/network_ranks.hpp"
#include "core/env_guard.hpp"

namespace ringcomm {
namespace {

using bootstrap::Bytes;
using bootstrap::Doorman;
using bootstrap::Endpoint;
using bootstrap::UniqueFd;
using namespace std::chrono_literals;

UniqueFd connect_to(const Endpoint& where) {
  UniqueFd socket(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (!socket.is_open() || ::connect(socket.get(), where.get(), where.length) != 0) return {};
  return socket;
}

constexpr int kKinds = 5;

/// What a stranger of that kind says; nothing for those who are silent.
Bytes words_of(int kind, std::mt19937& random) {
  if (kind == 1) {
    Bytes bytes(1 + random() % 200);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    bytes[0] = std::byte{0xAA};
    return bytes;
  }
  if (kind == 2) return test::bytes_of("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  bootstrap::FrameHeader header;
  header.kind = bootstrap::FrameKind::hello;
  if (kind == 3) {
    const auto hello = bootstrap::proved(bootstrap::make_hello(1, 4), bootstrap::secret_of("wrong"), {});
    return *bootstrap::make_frame(header, std::as_bytes(std::span(&hello, 1)));
  }
  if (kind == 4) {
    header.length = 0xFFFFFFFF;
    Bytes bytes(sizeof(header) + 64);
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (random() % 2 == 0) bytes.resize(10);  // cut short instead
    return bytes;
  }
  return {};
}

class Strangers {
 public:
  explicit Strangers(std::function<Endpoint()> where) : where_(std::move(where)) {}

  /// `count` connections of each kind, from one thread per kind; returns how many were taken.
  int come(int count) {
    std::atomic<int> taken{0};
    test::run_ranks(kKinds, [&](int kind) {
      std::mt19937 random(static_cast<unsigned>(kind) + 1);
      std::deque<UniqueFd> held;
      for (int i = 0; i < count; ++i) {
        UniqueFd socket = connect_to(where_());
        if (!socket.is_open()) continue;
        ++taken;
        const Bytes words = words_of(kind, random);
        if (!words.empty()) ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
        if (kind == 0) held.push_back(std::move(socket));
        if (held.size() > 100) held.pop_front();
      }
    });
    return taken;
  }

 private:
  std::function<Endpoint()> where_;
};

int counted(const test::LogLines& lines) {
  int total = 0;
  for (const std::string& line : lines.with(" dropped "))
    total += std::stoi(line.substr(line.find(" dropped ") + 9));
  return total;
}

void expect_one_line_per_kind(const test::LogLines& lines) {
  for (const char* kind : {"sent bytes of another protocol", "sent an HTTP request",
                           "did not know the group's secret", "announced an impossible length"}) {
    EXPECT_EQ(lines.with(kind).size(), 1U) << kind;
  }
}

TEST(StrangersTest, TenThousandAtAFixedAddressChangeNothing) {
  test::wait_for_hubs();
  const int before = test::open_descriptors();
  const test::LogLines lines;
  const int port = test::free_port();
  const std::string address = concat("127.0.0.1:", port);
  Strangers strangers([&] { return test::loopback(port); });
  std::atomic<bool> have_come{false};
  int taken = 0;
  int refused = 0;
  test::run_ranks(6, [&](int rank) {
    if (rank == 4) {
      while (!connect_to(test::loopback(port)).is_open()) ::usleep(1000);  // rank 0 is there
      taken = strangers.come(1000);
      have_come = true;
      return;
    }
    while (rank > 0 && !have_come) ::usleep(1000);
    if (rank == 5) {  // while the ranks meet, gather, and afterwards
      refused = 5000 - strangers.come(1000);
      return;
    }
    auto group = bootstrap::meet_at_address(address, "s", rank, 4, Deadline::after(50s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    for (int round = 0; round < 20; ++round) {
      const Status status = test::gather_and_compare(*group.value(), Deadline::after(50s));
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  });
  test::wait_for_hubs();
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_EQ(taken, 5000);
  EXPECT_GT(refused, 0);  // the port was closed once all had met
  EXPECT_GE(counted(lines), taken);
  expect_one_line_per_kind(lines);
}

TEST(StrangersTest, ThousandsAtAUniqueIdChangeNothing) {
  test::wait_for_hubs();
  const int before = test::open_descriptors();
  const test::EnvGuard loopback("RINGCOMM_SOCKET_IFNAME", "=lo");
  const test::LogLines lines;
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  int port = 0;
  std::memcpy(&port, id->bytes.data() + 6, 2);
  Strangers strangers([&] { return test::loopback(port); });
  const int taken = strangers.come(400);
  EXPECT_EQ(taken, 2000);
  test::run_ranks(3, [&](int rank) {
    auto group = bootstrap::meet_by_id(id.value(), rank, 3, Deadline::after(50s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    const Status status = test::gather_and_compare(*group.value(), Deadline::after(50s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
  test::wait_for_hubs();
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_GE(counted(lines), taken);
  expect_one_line_per_kind(lines);
  EXPECT_FALSE(connect_to(test::loopback(port)).is_open());
}

/// Hears until `is_enough` or five seconds more than a hello may take.
template <class Enough>
void hear(Doorman& doorman, const Enough& is_enough) {
  const Deadline patience = Deadline::after(Doorman::kHelloWait + 5s);
  while (!is_enough() && !patience.is_expired()) {
    EXPECT_TRUE(doorman.step().empty());
    ::usleep(2000);
  }
  EXPECT_TRUE(is_enough());
}

bool is_closed(const UniqueFd& socket) {
  std::array<std::byte, 256> buffer;
  while (true) {
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return got == 0 || errno == ECONNRESET;
  }
}

TEST(DoormanTest, SilenceAndHalfAHelloEndByThemselves) {
  const test::LogLines lines;
  auto listener = bootstrap::listen_at(test::loopback(0));
  ASSERT_TRUE(listener.is_ok());
  const Endpoint where = bootstrap::local_end(listener->get());
  Doorman doorman(std::move(listener).value(), bootstrap::secret_of("s"), "here");
  const UniqueFd silent = connect_to(where);
  const UniqueFd half = connect_to(where);
  std::mt19937 random(1);
  const Bytes words = words_of(3, random);
  ::send(half.get(), words.data(), words.size() - 1, MSG_NOSIGNAL);
  const std::int64_t began_ns = now_ns();
  hear(doorman, [&] { return is_closed(silent) && is_closed(half); });
  EXPECT_GE(now_ns() - began_ns, 4'000'000'000);
  doorman.close();
  ASSERT_EQ(lines.with("said nothing in time").size(), 1U);
  EXPECT_EQ(
      lines.with("said nothing in time")[0],
      "the meeting at here dropped 2 connections that said nothing in time (the last one from 127.0.0.1)");
}

TEST(DoormanTest, OfTooManyTheOldestGoes) {
  auto listener = bootstrap::listen_at(test::loopback(0));
  ASSERT_TRUE(listener.is_ok());
  const Endpoint where = bootstrap::local_end(listener->get());
  Doorman doorman(std::move(listener).value(), bootstrap::secret_of("s"), "here");
  std::vector<UniqueFd> all;
  for (std::size_t i = 0; i < Doorman::kPendingMax + 10; ++i) all.push_back(connect_to(where));
  hear(doorman, [&] { return is_closed(all[9]); });
  EXPECT_TRUE(is_closed(all[0]));
  EXPECT_FALSE(is_closed(all[10]));
  doorman.close();
  EXPECT_TRUE(is_closed(all[10]));
}

TEST(DoormanTest, LetsInWhoeverProvesTheSecretAndNobodyWhoRepeatsTheProof) {
  auto listener = bootstrap::listen_at(test::loopback(0));
  ASSERT_TRUE(listener.is_ok());
  const Endpoint where = bootstrap::local_end(listener->get());
  const auto secret = bootstrap::secret_of("s");
  Doorman doorman(std::move(listener).value(), secret, "here");
  Bytes overheard;
  for (const bool repeats : {false, true}) {
    const UniqueFd socket = connect_to(where);
    std::vector<bootstrap::Visitor> visitors = doorman.step();
    bootstrap::FrameReader reader(64);
    while (reader.receive(socket.get()) == bootstrap::IoState::would_block) visitors = doorman.step();
    bootstrap::Nonce banner{};
    std::memcpy(banner.data(), reader.payload().data(), banner.size());
    bootstrap::FrameHeader header;
    header.kind = bootstrap::FrameKind::hello;
    const auto hello = bootstrap::proved(bootstrap::make_hello(1, 4), secret, banner);
    if (!repeats) overheard = *bootstrap::make_frame(header, std::as_bytes(std::span(&hello, 1)));
    ::send(socket.get(), overheard.data(), overheard.size(), MSG_NOSIGNAL);
    const Deadline patience = Deadline::after(2s);
    while (visitors.empty() && !is_closed(socket) && !patience.is_expired()) visitors = doorman.step();
    EXPECT_EQ(visitors.size(), repeats ? 0U : 1U);
    EXPECT_FALSE(patience.is_expired());
  }
}

}  // namespace
}  // namespace ringcomm
