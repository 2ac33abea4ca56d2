// SPDX-License-Identifier: Apache-2.0
// Ranks that hold nothing but 128 bytes meet; the oracle is the definition of all-gather, and every damaged
// copy of the bytes must be refused.
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "bootstrap/network_ranks.hpp"
#include "core/env_guard.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm {
namespace {

using test::gather_and_compare;
using test::ProcessRanks;
using test::RankVoice;
using test::run_ranks;
using namespace std::chrono_literals;

bool is_port_closed(int port) {
  for (int i = 0; i < 2000; ++i) {
    const bootstrap::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bootstrap::Endpoint where = test::loopback(port);
    if (::connect(socket.get(), where.get(), where.length) != 0) return true;
    ::usleep(1000);
  }
  return false;
}

class UniqueIdTest : public ::testing::TestWithParam<int> {};

TEST_P(UniqueIdTest, ThreadsMeetAndLeaveNothingOpen) {
  const int ranks = GetParam();
  test::wait_for_hubs();
  const int before = test::open_descriptors();
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  run_ranks(ranks, [&](int rank) {
    auto group = bootstrap::meet_by_id(id.value(), rank, ranks, Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    const Status status = gather_and_compare(*group.value(), Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
  test::wait_for_hubs();
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(UniqueIdTest, ProcessesMeetAtAProcessThatIsNoRank) {
  const int ranks = GetParam();
  // Made in a child, since no thread may exist here when the ranks are forked.
  ProcessRanks processes(1, [&](int, const RankVoice&) -> std::string {
    const test::EnvGuard loopback("RINGCOMM_SOCKET_IFNAME", "=lo");
    const auto id = create_unique_id();
    if (!id.is_ok()) return id.status().to_string();
    ProcessRanks inner(ranks, [&](int rank, const RankVoice&) -> std::string {
      auto group = bootstrap_unique_id(id.value(), rank, ranks, Deadline::after(20s));
      if (!group.is_ok()) return group.status().to_string();
      if (group.value()->kind() != GroupKind::processes) return "not joined";
      const Status status = gather_and_compare(*group.value(), Deadline::after(20s));
      if (!status.is_ok()) return status.to_string();
      // This process was forked with the listening socket; the port is closed all the same.
      std::uint16_t port = 0;
      std::memcpy(&port, id->bytes.data() + 6, sizeof(port));
      return is_port_closed(port) ? "" : "the port is open still";
    });
    return test::failures_of(inner.wait_all(30s));
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(40s)), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, UniqueIdTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(UniqueIdTextTest, SurvivesHexAndRefusesEveryDamagedCopy) {
  const test::EnvGuard timeout("RINGCOMM_TIMEOUT", "50ms");
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  const std::string text = id->to_hex();
  EXPECT_EQ(text.size(), 256U);
  ASSERT_TRUE(UniqueId::from_hex(text).is_ok());
  EXPECT_EQ(UniqueId::from_hex(text)->bytes, id->bytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == '0' ? '1' : '0';
    if (damaged == text) continue;
    EXPECT_EQ(UniqueId::from_hex(damaged).status().code(), StatusCode::invalid_argument) << i;
    EXPECT_EQ(UniqueId::from_hex(text.substr(0, i)).status().code(), StatusCode::invalid_argument) << i;
  }
  std::string other = text;
  other[5] = 'g';
  EXPECT_EQ(UniqueId::from_hex(other).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(bootstrap::meet_by_id(UniqueId{}, 0, 2, Deadline::after(1s)).status().code(),
            StatusCode::invalid_argument);
}

TEST(UniqueIdFailureTest, SizesThatDifferAreNamed) {
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  run_ranks(2, [&](int rank) {
    const Status status =
        bootstrap::meet_by_id(id.value(), rank, rank == 0 ? 3 : 2, Deadline::after(10s)).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
    EXPECT_NE(status.message().find("world size differs"), std::string_view::npos) << status.to_string();
  });
}

TEST(UniqueIdFailureTest, NobodyWaitsLongerThanTheTimeout) {
  std::optional<test::EnvGuard> timeout(std::in_place, "RINGCOMM_TIMEOUT", "200ms");
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  const Status status = bootstrap::meet_by_id(id.value(), 1, 3, Deadline::after(20s)).status();
  EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
  EXPECT_NE(status.message().find("ranks 0, 2 of 3 have not come"), std::string_view::npos)
      << status.to_string();
}

TEST(UniqueIdFailureTest, AnInterfaceThatIsNotThereNamesAllThatAre) {
  const test::EnvGuard name("RINGCOMM_SOCKET_IFNAME", "=nonsense0");
  const Status status = create_unique_id().status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  for (const char* part : {"RINGCOMM_SOCKET_IFNAME==nonsense0 matches no interface", "lo (127.0.0.1)"}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
  }
}

}  // namespace
}  // namespace ringcomm
