// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/call_site.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

TEST(CallSiteTest, ScopesNestAndEnd) {
  EXPECT_EQ(CallSite::current(), "");
  {
    const CallSite outer("layer 3");
    EXPECT_EQ(CallSite::current(), "layer 3");
    {
      const CallSite inner("layer 3 attention");
      EXPECT_EQ(CallSite::current(), "layer 3 attention");
    }
    EXPECT_EQ(CallSite::current(), "layer 3");
    const CallSite none("");
    EXPECT_EQ(CallSite::current(), "");
  }
  EXPECT_EQ(CallSite::current(), "");
}

TEST(CallSiteTest, IsCopiedCutAndKeptUnderOneAddress) {
  std::string name(100, 'x');
  std::string_view first;
  {
    const CallSite site(name);
    first = CallSite::current();
  }
  name.assign(100, 'y');
  EXPECT_EQ(first, std::string(63, 'x'));
  const CallSite again(std::string(70, 'x'));
  EXPECT_EQ(CallSite::current().data(), first.data());
}

TEST(CallSiteTest, ADefaultGivesWayToTheCallersOwn) {
  const CallSite::Default attention("RingAttention::forward");
  EXPECT_EQ(CallSite::current(), "RingAttention::forward");
  {
    const CallSite own("layer 1");
    const CallSite::Default ignored("RingAttention::forward");
    EXPECT_EQ(CallSite::current(), "layer 1");
  }
  EXPECT_EQ(CallSite::current(), "RingAttention::forward");
}

TEST(CallSiteTest, EachThreadHasItsOwn) {
  const CallSite here("here");
  std::string there = "not set";
  std::thread([&] { there = CallSite::current(); }).join();
  EXPECT_EQ(there, "");
}

TEST(CallSiteTest, TooManyNamesAreBounded) {
  for (int i = 0; i < 3000; ++i) const CallSite site(concat("step ", i));
  const CallSite late("one more");
  EXPECT_EQ(CallSite::current(), "(more than 1024 call sites)");
  const CallSite known("step 0");
  EXPECT_EQ(CallSite::current(), "step 0");
}

}  // namespace
}  // namespace ringcomm
