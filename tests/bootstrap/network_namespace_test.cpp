// SPDX-License-Identifier: Apache-2.0
// Two network namespaces joined by a cable stand for two hosts: each has a loopback of its own, and what one
// may tell the other is judged by whether it gets there.
#include <sched.h>
#include <unistd.h>

#include "bootstrap/network_ranks.hpp"
#include "core/env_guard.hpp"
#include "support/process_ranks.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"

#include <fstream>

namespace ringcomm {
namespace {

using test::EnvGuard;
using test::ProcessRanks;
using test::RankVoice;
using namespace std::chrono_literals;

std::string run(const std::string& command) {
  const auto result = test::run_program("sh -c '" + command + "'", 20);
  return result.exit_code == 0 ? "" : command + ": " + result.output;
}

using Body = std::function<std::string(int host)>;

/// Runs the body on both hosts; host h has 10.77.1.(h + 1) on rcveth<h>, and nothing else but loopback.
std::string on_two_hosts(const Body& body) {
  const test::TempDir temp;
  const auto is_over = temp.path() / "over";
  ProcessRanks stage(1, [&](int, const RankVoice&) -> std::string {
    if (::unshare(CLONE_NEWNET) != 0) return "unshare failed";
    if (std::string failed = run("ip link add rcveth0 type veth peer name rcveth1"); !failed.empty())
      return failed;
    ProcessRanks hosts(2, [&](int host, const RankVoice& voice) -> std::string {
      if (::unshare(CLONE_NEWNET) != 0) return "unshare failed";
      voice.say("ready");
      const std::string device = concat("rcveth", host);
      const std::string wait =
          concat("until ip link show ", device, " >/dev/null 2>&1; do sleep 0.02; done; ");
      const std::string failed =
          run(concat(wait, "ip link set lo up; ip addr add 10.77.1.", host + 1, "/24 dev ", device,
                     "; ip link set ", device, " up; ip route add default via 10.77.1.", 2 - host));
      const std::string result = failed.empty() ? body(host) : failed;
      voice.say("done");
      while (!std::filesystem::exists(is_over)) ::usleep(1000);  // a host that goes takes the cable with it
      return result;
    });
    for (int host = 0; host < 2; ++host) {
      if (!hosts.has_said(host, "ready", 10s)) return "no host " + std::to_string(host);
      const std::string failed = run(concat("ip link set rcveth", host, " netns ", hosts.pid(host)));
      if (!failed.empty()) return failed;
    }
    for (int host = 0; host < 2; ++host) hosts.has_said(host, "done", 30s);
    std::ofstream(is_over.string()) << "";
    return test::failures_of(hosts.wait_all(10s));
  });
  return test::failures_of(stage.wait_all(60s));
}

std::string met_well(Result<std::unique_ptr<Bootstrap>> group, std::string_view interface) {
  if (!group.is_ok()) return group.status().to_string();
  if (group.value()->interface_name() != interface) {
    return concat("interface ", group.value()->interface_name(), " instead of ", interface);
  }
  const Status status = test::gather_and_compare(*group.value(), Deadline::after(20s));
  return status.is_ok() ? "" : status.to_string();
}

class NetworkNamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tried = test::run_program("unshare --net ip link add rca type veth peer name rcb", 20);
    if (tried.exit_code != 0) GTEST_SKIP() << "no network namespaces here: " << tried.output;
  }
};

TEST_F(NetworkNamespaceTest, RanksOfTwoHostsMeetAndKnowTheirInterfaces) {
  EXPECT_EQ(on_two_hosts([](int host) {
              return met_well(
                  bootstrap::meet_at_address("10.77.1.1:5000", "s", host, 2, Deadline::after(20s)),
                  concat("rcveth", host));
            }),
            "");
}

TEST_F(NetworkNamespaceTest, AnIdAdvertisesTheInterfaceThatRoutesOutwards) {
  const test::TempDir temp;
  const auto file = temp.path() / "id";
  EXPECT_EQ(on_two_hosts([&](int host) -> std::string {
              if (host == 0) {
                const auto id = create_unique_id();
                if (!id.is_ok()) return id.status().to_string();
                std::ofstream(file.string() + ".new") << id->to_hex();
                std::filesystem::rename(file.string() + ".new", file);
              }
              while (!std::filesystem::exists(file)) ::usleep(1000);
              std::string text;
              std::ifstream(file) >> text;
              const auto id = UniqueId::from_hex(text);
              if (!id.is_ok()) return id.status().to_string();
              return met_well(bootstrap::meet_by_id(id.value(), host, 2, Deadline::after(20s)),
                              concat("rcveth", host));
            }),
            "");
}

TEST_F(NetworkNamespaceTest, LoopbackOfAnotherHostIsRefusedAtOnce) {
  const test::TempDir temp;
  const auto file = temp.path() / "id";
  EXPECT_EQ(on_two_hosts([&](int host) -> std::string {
              if (host == 0) {
                const EnvGuard loopback("RINGCOMM_SOCKET_IFNAME", "=lo");
                const EnvGuard timeout("RINGCOMM_TIMEOUT", "5s");
                const auto id = create_unique_id();
                if (!id.is_ok()) return id.status().to_string();
                std::ofstream(file.string() + ".new") << id->to_hex();
                std::filesystem::rename(file.string() + ".new", file);
                return "";
              }
              while (!std::filesystem::exists(file)) ::usleep(1000);
              std::string text;
              std::ifstream(file) >> text;
              const auto id = UniqueId::from_hex(text);
              const Status status = bootstrap::meet_by_id(id.value(), 1, 2, Deadline::after(20s)).status();
              const bool is_named =
                  status.message().find("is the loopback of another host, rank 1 cannot get there") !=
                  std::string_view::npos;
              return status.code() == StatusCode::unreachable && is_named ? "" : status.to_string();
            }),
            "");
}

TEST_F(NetworkNamespaceTest, ARankWithoutARouteNamesWhatItFound) {
  EXPECT_EQ(on_two_hosts([](int host) -> std::string {
              if (host == 0) return "";
              const Status status =
                  bootstrap::meet_at_address("127.0.0.1:5000", "s", 1, 2, Deadline::after(300ms)).status();
              const bool is_named = status.message().find("loopback leads to ranks of this host only") !=
                                    std::string_view::npos;
              return status.code() == StatusCode::timeout && is_named ? "" : status.to_string();
            }),
            "");
}

}  // namespace
}  // namespace ringcomm
