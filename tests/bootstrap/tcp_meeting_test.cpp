// SPDX-License-Identifier: Apache-2.0
// Ranks are threads that share nothing but an address, or forked processes; the definition of all-gather is
// the oracle, and messages are compared with the sentences that the ranks' own numbers make.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "bootstrap/network_ranks.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm {
namespace {

using bootstrap::meet_at_address;
using test::free_port;
using test::gather_and_compare;
using test::ProcessRanks;
using test::RankVoice;
using test::run_ranks;
using namespace std::chrono_literals;

std::string at(int port) { return concat("127.0.0.1:", port); }

bool has(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string_view::npos;
}

class TcpMeetingTest : public ::testing::TestWithParam<int> {};

TEST_P(TcpMeetingTest, ThreadsGatherOverTheNetworkGroup) {
  const int ranks = GetParam();
  const std::string address = at(free_port());
  test::wait_for_hubs();
  const int before = test::open_descriptors();
  run_ranks(ranks, [&](int rank) {
    ::usleep(static_cast<useconds_t>((ranks - rank) % 3) * 20'000);
    auto group = meet_at_address(address, "s", rank, ranks, Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    EXPECT_EQ(group.value()->kind(), GroupKind::network);
    EXPECT_EQ(group.value()->rank(), rank);
    EXPECT_EQ(group.value()->size(), ranks);
    const Status status = gather_and_compare(*group.value(), Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(group.value()->take_socket(0).status().code(), StatusCode::not_available);
    EXPECT_EQ(group.value()->peer_pid(0).status().code(), StatusCode::not_available);
  });
  test::wait_for_hubs();
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(TcpMeetingTest, ProcessesOfOneHostEndUpWithUnixSockets) {
  const int ranks = GetParam();
  const std::string address = at(free_port());
  ProcessRanks processes(ranks, [&](int rank, const RankVoice&) -> std::string {
    auto group = bootstrap_tcp(address, "s", rank, ranks, Deadline::after(20s));
    if (!group.is_ok()) return group.status().to_string();
    if (group.value()->kind() != GroupKind::processes) return "not joined";
    const Status status = gather_and_compare(*group.value(), Deadline::after(20s));
    return status.is_ok() ? "" : status.to_string();
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(30s)), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, TcpMeetingTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(TcpMeetingPortTest, WorksWhileAnotherProgramHoldsThePortAndTheNextOnes) {
  const int port = free_port();
  std::vector<bootstrap::UniqueFd> held;
  for (const int taken : {port, port + 1, port + 3}) {
    held.push_back(std::move(bootstrap::listen_at(test::loopback(taken)).value()));
  }
  run_ranks(3, [&](int rank) {
    auto group = meet_at_address(at(port), "s", rank, 3, Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    EXPECT_TRUE(gather_and_compare(*group.value(), Deadline::after(20s)).is_ok());
  });
}

TEST(TcpMeetingPortTest, TwoJobsAtOnePortDoNotMix) {
  const int port = free_port();
  run_ranks(6, [&](int i) {
    const int rank = i / 2;
    auto group = meet_at_address(at(port), i % 2 == 0 ? "job a" : "job b", rank, 3, Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    auto all = group.value()->all_gather(test::bytes_of(i % 2 == 0 ? "a" : "b"), Deadline::after(20s));
    ASSERT_TRUE(all.is_ok()) << all.status().to_string();
    for (const auto& part : all.value()) EXPECT_EQ(part, test::bytes_of(i % 2 == 0 ? "a" : "b"));
  });
}

TEST(TcpMeetingPortTest, AllPortsTakenNamesAddressAndCount) {
  const int port = free_port();
  std::vector<bootstrap::UniqueFd> held;
  for (int i = 0; i <= bootstrap::kPortsBehind; ++i) {
    held.push_back(std::move(bootstrap::listen_at(test::loopback(port + i)).value()));
  }
  const Status status = meet_at_address(at(port), "s", 0, 2, Deadline::after(5s)).status();
  EXPECT_EQ(status.code(), StatusCode::not_available);
  EXPECT_TRUE(has(status, concat("cannot listen at ", at(port)))) << status.to_string();
  EXPECT_TRUE(has(status, "tried 17 ports")) << status.to_string();
}

TEST(TcpMeetingFailureTest, MissingRanksAreListedToAll) {
  const std::string address = at(free_port());
  run_ranks(9, [&](int rank) {
    if (rank == 3 || (rank >= 5 && rank <= 7)) return;
    // Whoever gives up first, the others learn the same reason at once.
    const Status status =
        meet_at_address(address, "s", rank, 9, Deadline::after(rank == 4 ? 700ms : 20s)).status();
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_TRUE(has(status, concat("ranks 3, 5 to 7 of 9 have not come to tcp://", address, " within ")))
        << status.to_string();
    EXPECT_TRUE(has(status, "(ranks 0 to 2, 4, 8 are there)")) << status.to_string();
  });
}

TEST(TcpMeetingFailureTest, MissingRanksOfALaterGatherAreListed) {
  const std::string address = at(free_port());
  std::atomic<int> done{0};
  run_ranks(4, [&](int rank) {
    auto group = meet_at_address(address, "s", rank, 4, Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    if (rank != 2) {
      const Status status = group.value()->all_gather({}, Deadline::after(rank == 1 ? 300ms : 20s)).status();
      EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
      EXPECT_TRUE(has(status, "rank 2 of 4 has not come to all_gather #1 of the meeting"))
          << status.to_string();
      EXPECT_EQ(group.value()->all_gather({}, Deadline::after(20s)).status().message(), status.message());
      ++done;
    }
    while (done < 3) ::usleep(1000);
  });
}

TEST(TcpMeetingFailureTest, NobodyAtTheAddressNamesRank0) {
  const std::string address = at(free_port());
  const Status status = meet_at_address(address, "s", 2, 3, Deadline::after(100ms)).status();
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_TRUE(has(status, concat("rank 0 of 3 has not opened its meeting place at tcp://", address)))
      << status.to_string();
  EXPECT_TRUE(has(status, "loopback leads to ranks of this host only")) << status.to_string();
}

TEST(TcpMeetingFailureTest, AWrongSecretIsToldAndCounted) {
  const std::string address = at(free_port());
  const test::LogLines lines;
  run_ranks(3, [&](int rank) {
    const bool is_wrong = rank == 1;
    if (is_wrong) ::usleep(100'000);
    const Status status = meet_at_address(address, is_wrong ? "another" : "s", rank, 3,
                                          Deadline::after(is_wrong ? 400ms : 1500ms))
                              .status();
    EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
    EXPECT_TRUE(has(status, is_wrong ? "refused this rank's secret. Is RINGCOMM_SECRET the same"
                                     : "rank 1 of 3 has not come to tcp://"))
        << status.to_string();
  });
  test::wait_for_hubs();
  EXPECT_EQ(lines.with("did not know the group's secret").size(), 1U);
}

TEST(TcpMeetingFailureTest, RankTakenTwiceNamesBothProcessesAndTheFirstGoesOn) {
  const std::string address = at(free_port());
  ProcessRanks processes(3, [&](int process, const RankVoice&) -> std::string {
    // Process 2 claims rank 1 as well, before rank 2 of three comes: nobody.
    const int rank = process == 2 ? 1 : process;
    if (process == 2) ::usleep(300'000);
    return meet_at_address(address, "s", rank, 3, Deadline::after(process == 2 ? 10s : 2s))
        .status()
        .to_string();
  });
  const auto reports = processes.wait_all(20s);
  const std::string& twice = reports[2].message;
  EXPECT_EQ(twice.find("invalid_argument: rank 1 of tcp://"), 0U) << twice;
  for (const int process : {1, 2}) {
    EXPECT_NE(twice.find(concat("pid ", processes.pid(process), " on ")), std::string::npos) << twice;
  }
  EXPECT_NE(reports[1].message.find("timeout: rank 2 of 3 has not come"), std::string::npos)
      << reports[1].message;
}

TEST(TcpMeetingFailureTest, WorldSizesThatDifferAreNamedToAll) {
  const std::string address = at(free_port());
  run_ranks(3, [&](int rank) {
    if (rank == 2) ::usleep(200'000);
    const Status status =
        meet_at_address(address, "s", rank, rank == 2 ? 5 : 4, Deadline::after(10s)).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
    EXPECT_TRUE(has(status, "says 4, rank 2 (pid ")) << status.to_string();
    EXPECT_TRUE(has(status, "says 5")) << status.to_string();
  });
}

TEST(TcpMeetingFailureTest, ARankThatComesAfterTheFailureLearnsTheReason) {
  const std::string address = at(free_port());
  run_ranks(4, [&](int rank) {
    if (rank == 3) ::usleep(600'000);
    const Status status =
        meet_at_address(address, "s", rank, rank == 1 ? 7 : 4, Deadline::after(10s)).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
    EXPECT_TRUE(has(status, "world size differs")) << status.to_string();
  });
}

TEST(TcpMeetingFailureTest, ADeadRankIsNamedAtOnce) {
  const std::string address = at(free_port());
  ProcessRanks processes(3, [&](int rank, const RankVoice& voice) -> std::string {
    voice.say("starts");
    return meet_at_address(address, "s", rank, 4, Deadline::after(60s))
        .status()
        .to_string();  // rank 3 never comes
  });
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(processes.has_said(rank, "starts", 5s));
  ::usleep(500'000);
  processes.send_signal(1, SIGKILL);
  for (const int rank : {0, 2}) {
    const std::string message = processes.wait(rank, 5s).message;
    EXPECT_EQ(message.find(concat("peer_lost: rank 1 (pid ", processes.pid(1), " on ")), 0U) << message;
  }
}

TEST(TcpMeetingFailureTest, ADeadRankIsNamedInALaterGather) {
  const std::string address = at(free_port());
  ProcessRanks processes(3, [&](int rank, const RankVoice& voice) -> std::string {
    auto group = meet_at_address(address, "s", rank, 3, Deadline::after(20s));
    if (!group.is_ok()) return group.status().to_string();
    voice.say("met");
    if (rank == 1) ::usleep(60'000'000);
    return group.value()->all_gather({}, Deadline::after(60s)).status().to_string();
  });
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(processes.has_said(rank, "met", 5s));
  processes.send_signal(1, SIGKILL);
  for (const int rank : {0, 2}) {
    const std::string message = processes.wait(rank, 5s).message;
    EXPECT_EQ(message.find(concat("peer_lost: rank 1 (pid ", processes.pid(1), " on ")), 0U) << message;
  }
}

TEST(TcpMeetingFailureTest, ADeadRootIsNoticedAtOnce) {
  const std::string address = at(free_port());
  ProcessRanks processes(2, [&](int rank, const RankVoice& voice) -> std::string {
    voice.say("starts");
    return meet_at_address(address, "s", rank, 3, Deadline::after(60s)).status().to_string();
  });
  ASSERT_TRUE(processes.has_said(1, "starts", 5s));
  ::usleep(500'000);
  processes.send_signal(0, SIGKILL);
  const std::string message = processes.wait(1, 5s).message;
  EXPECT_EQ(message.find(concat("peer_lost: the process of the meeting place at tcp://", address)), 0U)
      << message;
}

TEST(TcpMeetingFailureTest, WrongNumbersAndAddressesAreRefused) {
  for (const auto& [rank, size] : {std::pair{0, 0}, {-1, 2}, {2, 2}, {0, -5}, {0, 1'000'000}}) {
    EXPECT_EQ(meet_at_address("127.0.0.1:5000", "s", rank, size, Deadline::after(1s)).status().code(),
              StatusCode::invalid_argument);
  }
  EXPECT_EQ(meet_at_address("nowhere", "s", 0, 2, Deadline::after(1s)).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(meet_at_address("no.such.host.invalid:5", "s", 1, 2, Deadline::after(300ms)).status().code(),
            StatusCode::unreachable);
}

TEST(TcpMeetingFailureTest, TooManyBytesAreRefusedBeforeTheyAreSent) {
  auto group = meet_at_address(at(free_port()), "s", 0, 1, Deadline::after(5s));
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  const std::vector<std::byte> largest(1 << 20);
  EXPECT_TRUE(group.value()->all_gather(largest, Deadline::after(5s)).is_ok());
  const std::vector<std::byte> larger((1 << 20) + 1);
  EXPECT_EQ(group.value()->all_gather(larger, Deadline::after(5s)).status().code(),
            StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
