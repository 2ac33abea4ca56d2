// SPDX-License-Identifier: Apache-2.0
// The oracle is the kernel's view of the thread: its affinity, name and memory policy.
#include "device/host/thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <array>

#include "ringcomm/device/worker_team.hpp"

namespace ringcomm {
namespace {

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

int some_cpu() {
  const cpu_set_t set = affinity();
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &set)) return cpu;
  }
  return -1;
}

TEST(ThreadTest, RunsTheBodyBoundAndNamed) {
  const int cpu = some_cpu();
  std::array<char, 16> name{};
  cpu_set_t set;
  auto thread = start_thread("ringcomm-named-long", {.cpus = {cpu}, .memory_node = -1}, [&] {
    set = affinity();
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  ASSERT_TRUE(thread.is_ok()) << thread.status().to_string();
  thread.value().join();
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(cpu, &set));
  EXPECT_STREQ(name.data(), "ringcomm-named-");
}

TEST(ThreadTest, EmptyPlacementLeavesTheThreadWhereItIs) {
  const cpu_set_t before = affinity();
  EXPECT_TRUE(bind_this_thread({}).is_ok());
  const cpu_set_t after = affinity();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(ThreadTest, RefusedPlacementIsAnErrorAndTheBodyDoesNotRun) {
  bool has_run = false;
  for (const auto& [cpu, code] : {std::pair{60000, StatusCode::not_available},
                                  {-1, StatusCode::invalid_argument},
                                  {1 << 20, StatusCode::invalid_argument}}) {
    const auto thread = start_thread("refused", {.cpus = {cpu}, .memory_node = -1}, [&] { has_run = true; });
    EXPECT_EQ(thread.status().code(), code) << thread.status().to_string();
    EXPECT_NE(thread.status().message().find(std::to_string(cpu)), std::string_view::npos);
  }
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace ringcomm
