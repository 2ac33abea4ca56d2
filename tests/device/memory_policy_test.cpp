// SPDX-License-Identifier: Apache-2.0
// The oracle is get_mempolicy: what the kernel noted down for the pages or the thread.
#include "device/host/memory_policy.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "ringcomm/device/segment.hpp"

namespace ringcomm {
namespace {

constexpr int kDefault = 0, kPreferred = 1;  // MPOL_DEFAULT, MPOL_PREFERRED
constexpr unsigned long kOfAddress = 2;      // MPOL_F_ADDR

struct Policy {
  int mode = -1;
  std::array<unsigned long, 16> nodes{};
};

/// Container runtimes forbid all of this; then the wishes must only be harmless.
bool are_policies_allowed() {
  int mode = 0;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0;
}

Policy policy_of(const void* address) {
  Policy policy;
  EXPECT_EQ(syscall(SYS_get_mempolicy, &policy.mode, policy.nodes.data(), 1024UL, address,
                    address == nullptr ? 0UL : kOfAddress),
            0);
  return policy;
}

TEST(MemoryPolicyTest, PagesPreferTheNode) {
  const auto segment = Segment::create({.bytes = 1, .kind = SegmentKind::local});
  ASSERT_TRUE(segment.is_ok());
  std::byte* data = segment.value()->data();
  prefer_memory_node(data, segment.value()->bytes(), -1);
  if (!are_policies_allowed()) return prefer_memory_node(data, segment.value()->bytes(), 0);
  EXPECT_EQ(policy_of(data).mode, kDefault);
  prefer_memory_node(data, segment.value()->bytes(), 900);
  EXPECT_EQ(policy_of(data).mode, kDefault);
  prefer_memory_node(data, segment.value()->bytes(), 0);
  EXPECT_EQ(policy_of(data).mode, kPreferred);
  EXPECT_EQ(policy_of(data).nodes[0], 1UL);
}

TEST(MemoryPolicyTest, OnlyThisThreadPrefersTheNode) {
  std::thread([] {
    prefer_memory_node_of_this_thread(0);
    if (!are_policies_allowed()) return;
    EXPECT_EQ(policy_of(nullptr).mode, kPreferred);
    EXPECT_EQ(policy_of(nullptr).nodes[0], 1UL);
  }).join();
  EXPECT_TRUE(!are_policies_allowed() || policy_of(nullptr).mode == kDefault);
}

}  // namespace
}  // namespace ringcomm
