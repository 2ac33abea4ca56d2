// SPDX-License-Identifier: Apache-2.0
// The oracles are made trees, limits that the test sets on its own process, and the exact messages promised.
#include "ringcomm/core/limits.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/made_tree.hpp"

namespace ringcomm {
namespace {

using test::MadeTree;

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kGiB = 1U << 30;

class RlimitGuard {
 public:
  RlimitGuard(decltype(RLIMIT_FSIZE) resource, rlim_t soft) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &old_), 0);
    const rlimit lowered{soft, old_.rlim_max};
    EXPECT_EQ(::setrlimit(resource_, &lowered), 0);
  }
  ~RlimitGuard() { ::setrlimit(resource_, &old_); }
  RlimitGuard(const RlimitGuard&) = delete;
  RlimitGuard& operator=(const RlimitGuard&) = delete;

 private:
  decltype(RLIMIT_FSIZE) resource_;
  rlimit old_{};
};

TEST(LimitsTest, ReadsEverythingOfAMadeMachine) {
  const MadeTree tree;
  tree.write("proc/self/cgroup", "0::/a/b\n");
  tree.write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.write("proc/meminfo", "MemTotal:   100 kB\nMemFree: 1 kB\nMemAvailable:   2048 kB\n");
  tree.write("sys/fs/cgroup/a/memory.max", "2147483648\n");
  tree.write("sys/fs/cgroup/a/memory.current", "1048576\n");
  tree.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  const Limits limits = read_limits(tree.root());
  EXPECT_EQ(limits.memory_limit_bytes, 2 * kGiB);
  EXPECT_EQ(limits.memory_used_bytes, kMiB);
  EXPECT_EQ(limits.memory_available_bytes, 2 * kMiB);
  EXPECT_EQ(limits.cpu_quota, 0.5);
  EXPECT_EQ(limits.usable_cpus(), 1);
  EXPECT_EQ(limits.cgroup, "v2:/a/b");
}

TEST(LimitsTest, EmptyRootMeansNoLimits) {
  const MadeTree tree;
  const Limits limits = read_limits(tree.root());
  EXPECT_FALSE(limits.memory_limit_bytes.has_value());
  EXPECT_FALSE(limits.cpu_quota.has_value());
  EXPECT_EQ(limits.memory_available_bytes, 0U);
  EXPECT_EQ(limits.cgroup, "none");
  EXPECT_TRUE(check_fits(Limits{}, UINT64_MAX, MemoryUse::memfd, "window").is_ok());
}

TEST(LimitsTest, V1GroupIsLabelled) {
  const MadeTree tree;
  tree.write("proc/self/cgroup", "4:memory:/box\n");
  EXPECT_EQ(read_limits(tree.root()).cgroup, "v1:/box");
  tree.write("proc/self/cgroup", "4:cpu:/cpus\n");
  EXPECT_EQ(read_limits(tree.root()).cgroup, "v1:/cpus");
}

TEST(LimitsTest, ThisMachineHasACpuAndAvailableMemory) {
  const Limits limits = read_limits();
  EXPECT_GE(limits.usable_cpus(), 1);
  EXPECT_LE(limits.usable_cpus(), limits.cpus_allowed);
  EXPECT_GT(limits.memory_available_bytes, kMiB);
  EXPECT_TRUE(check_fits(limits, 4096, MemoryUse::memfd, "window").is_ok());
}

TEST(LimitsTest, RlimitsOfThisProcessAreRead) {
  const RlimitGuard file_size(RLIMIT_FSIZE, 3 * kMiB);
  const RlimitGuard locked(RLIMIT_MEMLOCK, 65536);
  const Limits limits = read_limits();
  EXPECT_EQ(limits.file_size_bytes, 3 * kMiB);
  EXPECT_EQ(limits.locked_bytes, 65536U);
}

TEST(LimitsTest, AffinityOfTheCallingThreadIsRead) {
  std::thread([] {
    cpu_set_t set;
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    const int all = CPU_COUNT(&set);
    EXPECT_EQ(read_limits().cpus_allowed, all);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) > 1; ++cpu)
      CPU_CLR(static_cast<unsigned>(cpu), &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(read_limits().cpus_allowed, 1);
  }).join();
}

TEST(LimitsTest, UsableCpusIsTheSmallerOfAffinityAndQuotaAndAtLeastOne) {
  const auto usable = [](int allowed, std::optional<double> quota) {
    return Limits{.cpu_quota = quota, .cpus_allowed = allowed}.usable_cpus();
  };
  EXPECT_EQ(usable(8, {}), 8);
  EXPECT_EQ(usable(8, 2.0), 2);
  EXPECT_EQ(usable(8, 2.9), 2);
  EXPECT_EQ(usable(2, 1e300), 2);
  EXPECT_EQ(usable(8, 0.1), 1);
  EXPECT_EQ(usable(0, {}), 1);
}

Limits group_of(std::uint64_t limit, std::uint64_t used) {
  return {.memory_limit_bytes = limit, .memory_used_bytes = used, .cgroup = "v2:/job"};
}

TEST(LimitsTest, GroupLimitRefusesWithItsValueAndUse) {
  const Status refused =
      check_fits(group_of(2 * kGiB, kGiB + kGiB / 2), 4 * kGiB, MemoryUse::plain, "window");
  EXPECT_EQ(refused.code(), StatusCode::out_of_memory);
  EXPECT_EQ(refused.message(),
            "window of 4 GiB does not fit: the cgroup's memory limit is 2 GiB with 1.5 GiB in use (exceeding "
            "it kills the process). Raise memory.max or ask for less");
  Limits v1 = group_of(2 * kGiB, 0);
  v1.cgroup = "v1:/job";
  EXPECT_NE(check_fits(v1, 4 * kGiB, MemoryUse::plain, "window").message().find("memory.limit_in_bytes"),
            std::string_view::npos);
}

TEST(LimitsTest, RoomIsUsableToTheLastByte) {
  const Limits limits = group_of(100, 40);
  EXPECT_TRUE(check_fits(limits, 60, MemoryUse::plain, "arena").is_ok());
  EXPECT_FALSE(check_fits(limits, 61, MemoryUse::plain, "arena").is_ok());
  EXPECT_TRUE(check_fits(group_of(100, 200), 0, MemoryUse::plain, "arena").is_ok());
  EXPECT_FALSE(check_fits(group_of(100, 200), 1, MemoryUse::plain, "arena").is_ok());
}

TEST(LimitsTest, FileSizeLimitRefusesAMemfdOnly) {
  const Limits limits{.file_size_bytes = kMiB};
  EXPECT_EQ(check_fits(limits, 2 * kMiB, MemoryUse::memfd, "arena of rank 3").message(),
            "arena of rank 3 of 2 MiB does not fit: RLIMIT_FSIZE is 1 MiB (a larger memfd raises SIGXFSZ). "
            "Raise it with ulimit -f");
  EXPECT_TRUE(check_fits(limits, kMiB, MemoryUse::memfd, "arena").is_ok());
  EXPECT_TRUE(check_fits(limits, 2 * kMiB, MemoryUse::plain, "arena").is_ok());
}

TEST(LimitsTest, AvailableMemoryOfTheMachineRefuses) {
  const Limits limits{.memory_available_bytes = kGiB};
  EXPECT_EQ(check_fits(limits, 2 * kGiB, MemoryUse::plain, "window").message(),
            "window of 2 GiB does not fit: this machine has 1 GiB available (using more wakes the "
            "out-of-memory killer). Ask for less");
  EXPECT_TRUE(check_fits(limits, kGiB, MemoryUse::plain, "window").is_ok());
}

TEST(LimitsTest, HugeMeminfoNumbersAreUnknown) {
  const MadeTree tree;
  for (const char* text :
       {"MemAvailable: 18446744073709551615 kB\n", "MemAvailable:\n", "MemAvailable: -4 kB\n"}) {
    tree.write("proc/meminfo", text);
    EXPECT_EQ(read_limits(tree.root()).memory_available_bytes, 0U) << text;
  }
}

/// Why check_fits() knows RLIMIT_FSIZE at all: the kernel answers a larger memfd with a signal.
[[noreturn]] void grow_a_memfd_past_the_limit() {
  const rlimit small{kMiB, kMiB};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const int fd = ::memfd_create("limit", MFD_CLOEXEC);
  std::exit(fd >= 0 && ::ftruncate(fd, 2 * kMiB) == 0 ? 0 : 1);
}

TEST(LimitsTest, MemfdLargerThanTheFileSizeLimitKills) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(grow_a_memfd_past_the_limit(), testing::KilledBySignal(SIGXFSZ), "");
}

}  // namespace
}  // namespace ringcomm
