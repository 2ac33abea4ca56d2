// SPDX-License-Identifier: Apache-2.0
// Probes are run for real; what goes wrong is made by sides of our own.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "diag/host/probe_child.hpp"
#include "ringcomm/diag/host_checks.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using std::chrono::milliseconds;
constexpr auto kNothing = [](int) { return std::string(); };

TEST(ProbesTest, WhatThisLibraryItselfNeedsWorksHere) {
  const auto results = run_probes();
  ASSERT_EQ(results.size(), 5U);
  for (const char* const name : {"fd_passing", "memfd_seal", "futex_wake", "loopback_tcp"})
    EXPECT_EQ(results.at(name), "ok") << name;
  EXPECT_TRUE(results.contains("cma"));  // a container may forbid it
}

TEST(WithChildTest, BothSidesMayRefuse) {
  EXPECT_EQ(diag::with_child(milliseconds(5000), kNothing, kNothing), "");
  EXPECT_EQ(diag::with_child(
                milliseconds(5000), [](int) { return std::string("no"); }, kNothing),
            "no");
  EXPECT_EQ(diag::with_child(milliseconds(5000), kNothing, [](int) { return std::string("nor here"); }),
            "nor here");
}

TEST(WithChildTest, AChildThatHangsIsKilled) {
  const auto hang = [](int) -> std::string {
    for (;;) ::pause();
  };
  EXPECT_EQ(diag::with_child(milliseconds(50), hang, kNothing), "no answer within 50 ms");
}

TEST(WithChildTest, AChildThatDiesIsReported) {
  const auto die = [](int) -> std::string {
    ::kill(::getpid(), SIGKILL);
    return {};
  };
  EXPECT_EQ(diag::with_child(milliseconds(5000), die, kNothing),
            "the child was killed by signal 9 (seccomp?)");
}

void write(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fwrite(text.data(), 1, text.size(), out);
  std::fclose(out);
}

TEST(HostFactsTest, ReadsAFakeRoot) {
  const test::TempDir root;
  const std::filesystem::path at = root.path();
  write(at / "proc/sys/kernel/random/boot_id", "abc-1\n");
  write(at / "proc/sys/kernel/numa_balancing", "1\n");
  write(at / "proc/sys/vm/max_map_count", "65530\n");
  write(at / "proc/self/maps", "a\nb\nc\n");
  write(at / "proc/self/status", "Name:\tx\nMems_allowed_list:\t0-1\n");
  write(at / "sys/devices/system/node/online", "0-1\n");
  write(at / "sys/devices/system/node/node0/cpulist", "0-3\n");
  write(at / "sys/devices/system/node/node1/cpulist", "\n");
  write(at / "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write(at / "sys/class/infiniband/mlx5_0/x", "");
  write(at / "sys/module/nvidia/version", "550.54.14\n");
  write(at / "etc/nccl.conf", "NCCL_DEBUG=INFO\n");
  const HostFacts facts = read_host_facts(at);
  EXPECT_EQ(facts.boot_id, "abc-1");
  EXPECT_EQ(facts.numa_balancing, 1);
  EXPECT_EQ(facts.map_count, 3U);
  EXPECT_EQ(facts.memory_nodes_allowed, (std::vector<int>{0, 1}));
  EXPECT_EQ(facts.node_cpus.at(0).size(), 4U);
  EXPECT_TRUE(facts.node_cpus.at(1).empty());
  EXPECT_EQ(facts.transparent_hugepage, "madvise");
  EXPECT_EQ(facts.rdma_devices, 1);
  EXPECT_EQ(facts.versions.at("nvidia driver"), "550.54.14");
  EXPECT_EQ(facts.config_files, std::vector<std::string>{"/etc/nccl.conf"});
  EXPECT_TRUE(facts.unread.contains("ptrace_scope"));
  EXPECT_TRUE(facts.unread.contains("idle_states"));
  EXPECT_FALSE(facts.ptrace_scope);
}

TEST(HostFactsTest, ReadsThisHost) {
  const HostFacts facts = read_host_facts();
  EXPECT_FALSE(facts.boot_id.empty());
  EXPECT_FALSE(facts.cpus_allowed.empty());
  EXPECT_TRUE(facts.versions.contains("kernel"));
  EXPECT_TRUE(facts.shm_total_bytes);
  EXPECT_EQ(facts.namespaces.size(), 5U);
}

}  // namespace
}  // namespace ringcomm
