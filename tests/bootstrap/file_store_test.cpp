// SPDX-License-Identifier: Apache-2.0
// Ranks are threads (each opens the store by itself) or forked processes; the file system says what was left
// behind, and messages are compared with the sentence that the ranks' own numbers make.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "bootstrap/group_threads.hpp"
#include "bootstrap/unix_socket.hpp"
#include "ringcomm/core/log.hpp"
#include "support/process_ranks.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using test::ProcessRanks;
using test::RankVoice;
using test::run_ranks;
using test::TempDir;
using Names = std::vector<std::string>;
using namespace std::chrono_literals;

Status meet_and_gather(const std::filesystem::path& path, int rank, int size, Deadline deadline) {
  auto group = bootstrap_file_store(path, rank, size, deadline);
  if (!group.is_ok()) return group.status();
  auto all = group.value()->all_gather(test::contribution(rank, 100), deadline);
  if (!all.is_ok()) return all.status();
  for (int peer = 0; peer < size; ++peer) {
    if (all.value()[static_cast<std::size_t>(peer)] != test::contribution(peer, 100)) {
      return Status::internal("wrong bytes of rank " + std::to_string(peer));
    }
  }
  return {};
}

class FileStoreTest : public ::testing::TestWithParam<int> {};

TEST_P(FileStoreTest, ProcessesMeetAndLeaveNothingBehind) {
  const int ranks = GetParam();
  const TempDir temp;
  ProcessRanks processes(ranks, [&](int rank, const RankVoice&) -> std::string {
    const Status status = meet_and_gather(temp.path() / "store", rank, ranks, Deadline::after(20s));
    return status.is_ok() ? "" : status.to_string();
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(30s)), "");
  EXPECT_EQ(temp.names(), Names{});
}

TEST_P(FileStoreTest, SeveralMeetingsInOneDirectoryOneAfterTheOther) {
  const int ranks = GetParam();
  const TempDir temp;
  run_ranks(ranks, [&](int rank) {
    for (int round = 0; round < 5; ++round) {
      const Status status = meet_and_gather(temp.path() / "store", rank, ranks, Deadline::after(20s));
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  });
  EXPECT_EQ(temp.names(), Names{});
}

INSTANTIATE_TEST_SUITE_P(Ranks, FileStoreTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(FileStoreFailureTest, MissingRanksAreListedToAllAndNothingIsLeft) {
  const TempDir temp;
  const auto path = temp.path() / "x";
  run_ranks(8, [&](int rank) {
    if (rank == 2 || rank == 5) return;
    const Status status = meet_and_gather(path, rank, 8, Deadline::after(rank == 0 ? 600ms : 20s));
    EXPECT_EQ(status.code(), StatusCode::timeout);
    const std::string who = "ranks 2, 5 of 8 have not come to file://" + path.string() + " within ";
    EXPECT_NE(status.message().find(who), std::string_view::npos) << status.to_string();
    EXPECT_NE(status.message().find("ms (ranks 0, 1, 3, 4, 6, 7 are there)"), std::string_view::npos)
        << status.to_string();
  });
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, LonelyRankSaysSo) {
  const TempDir temp;
  const Status status = meet_and_gather(temp.path() / "x", 1, 2, Deadline::after(50ms));
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_NE(status.message().find("rank 0 of 2 has not come"), std::string_view::npos) << status.to_string();
  EXPECT_NE(status.message().find("(rank 1 is there)"), std::string_view::npos) << status.to_string();
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, RankTakenTwiceNamesBothProcessesAndTheFirstGoesOn) {
  const TempDir temp;
  ProcessRanks processes(3, [&](int process, const RankVoice& voice) -> std::string {
    const int rank = process == 2 ? 1 : process;
    if (process == 0) ::usleep(400'000);
    if (process == 2) ::usleep(150'000);
    voice.say("starts");
    const Status status = meet_and_gather(temp.path() / "x", rank, 2, Deadline::after(10s));
    return status.is_ok() ? "" : status.to_string();
  });
  const auto reports = processes.wait_all(20s);
  EXPECT_TRUE(reports[0].is_ok()) << reports[0].to_string();
  EXPECT_TRUE(reports[1].is_ok()) << reports[1].to_string();
  const std::string both = "is taken by process " + std::to_string(processes.pid(1)) +
                           " as well as by process " + std::to_string(processes.pid(2));
  EXPECT_EQ(reports[2].message.find("invalid_argument: rank 1 of "), 0U) << reports[2].message;
  EXPECT_NE(reports[2].message.find(both), std::string::npos) << reports[2].message;
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, WorldSizesThatDifferAreNamedToBoth) {
  const TempDir temp;
  run_ranks(2, [&](int rank) {
    const Status status = meet_and_gather(temp.path() / "x", rank, rank == 0 ? 4 : 2, Deadline::after(20s));
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
    EXPECT_NE(status.message().find("world size differs"), std::string_view::npos) << status.to_string();
    for (const char* said : {"rank 0 (pid ", ") says 4", "rank 1 (pid ", ") says 2"}) {
      EXPECT_NE(status.message().find(said), std::string_view::npos) << status.to_string();
    }
  });
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, WrongNumbersAreRefusedBeforeAnythingIsTouched) {
  const TempDir temp;
  for (const auto& [rank, size] : {std::pair{0, 0}, {-1, 2}, {2, 2}, {0, -5}, {0, 1'000'000}}) {
    const Status status = meet_and_gather(temp.path() / "x", rank, size, Deadline::after(1s));
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << rank << " of " << size;
  }
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, KilledRankIsReplacedByALaterOne) {
  const TempDir temp;
  const auto path = temp.path() / "x";
  {
    ProcessRanks first(1, [&](int, const RankVoice& voice) -> std::string {
      voice.say("starts");
      return meet_and_gather(path, 0, 2, Deadline::after(20s)).to_string();
    });
    ASSERT_TRUE(first.has_said(0, "starts", 5s));
    while (temp.names().size() < 4) ::usleep(1000);  // store, marker, rank file, socket
    first.send_signal(0, SIGKILL);
    first.wait(0, 5s);
  }
  EXPECT_EQ(temp.names().size(), 4U);
  run_ranks(2, [&](int rank) {
    const Status status = meet_and_gather(path, rank, 2, Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, RankThatDiesWhileTheOthersWaitIsNamed) {
  const TempDir temp;
  const auto path = temp.path() / "x";
  ProcessRanks processes(3, [&](int rank, const RankVoice& voice) -> std::string {
    voice.say("starts");
    // Rank 3 of 4 never comes.
    return meet_and_gather(path, rank, 4, Deadline::after(60s)).to_string();
  });
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(processes.has_said(rank, "starts", 5s));
  while (temp.names().size() < 8) ::usleep(1000);
  ::usleep(300'000);
  processes.send_signal(1, SIGKILL);
  for (const int rank : {0, 2}) {
    const std::string message = processes.wait(rank, 5s).message;
    EXPECT_EQ(message.find("peer_lost: "), 0U) << message;
    EXPECT_NE(message.find("rank 1 (pid " + std::to_string(processes.pid(1)) + ")"), std::string::npos)
        << message;
  }
  EXPECT_EQ(temp.names(), Names{});
}

/// The first packet of a rank of four, with a nonce that it cannot know.
std::vector<std::byte> forged_hello(std::int32_t rank) {
  const std::array<std::int32_t, 8> words{0x52434831, rank, 4, 0, 1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

/// Connects to every socket in the store and sends what a stranger might, until told to stop.
void molest(const std::filesystem::path& path, const std::atomic<bool>& is_over) {
  std::vector<bootstrap::UniqueFd> held;
  for (int i = 0; !is_over; ++i) {
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator(path, ignored)) {
      if (!item.is_socket(ignored)) continue;
      bootstrap::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, item.path().c_str(), sizeof(address.sun_path) - 1);
      if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        continue;
      if (i % 4 == 0) bootstrap::send_packet(socket.get(), test::contribution(i, i % 3 == 0 ? 32 : 100));
      if (i % 4 == 1) bootstrap::send_packet(socket.get(), forged_hello(1 + i % 3));
      if (i % 4 != 3 && held.size() < 20) held.push_back(std::move(socket));  // 2: says nothing at all
    }
    ::usleep(2000);
  }
}

TEST(FileStoreFailureTest, StrangersAreDroppedAndCountedInALogLine) {
  const TempDir temp;
  const auto path = temp.path() / "x";
  std::atomic<bool> is_over{false};
  std::atomic<int> lines{0};
  set_log_sink([&](LogLevel, std::string_view text) {
    if (text.find("connections of strangers") != std::string_view::npos) ++lines;
  });
  std::thread stranger([&] { molest(path, is_over); });
  run_ranks(4, [&](int rank) {
    ::usleep(static_cast<useconds_t>(rank) * 100'000);
    const Status status = meet_and_gather(path, rank, 4, Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
  is_over = true;
  stranger.join();
  set_log_sink({});
  EXPECT_GE(lines.load(), 1);
  EXPECT_EQ(temp.names(), Names{});
}

TEST(FileStoreFailureTest, FailuresAndMeetingsLeakNoDescriptor) {
  const TempDir temp;
  const int before = test::open_descriptors();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(meet_and_gather(temp.path() / "x", 0, 2, Deadline::after(5ms)).is_ok());
    run_ranks(3, [&](int rank) {
      EXPECT_TRUE(meet_and_gather(temp.path() / "x", rank, 3, Deadline::after(20s)).is_ok());
    });
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace ringcomm
