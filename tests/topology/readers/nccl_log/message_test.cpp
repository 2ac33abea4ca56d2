// SPDX-License-Identifier: Apache-2.0
// Lines as launchers print and pipes tear them, each with the messages that it holds.
#include "topology/readers/nccl_log/message.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ringcomm/core/text.hpp"

namespace ringcomm::topology::nccl_log {
namespace {

/// "host[device]|text", "!" before a warning, "~" behind a torn one.
std::vector<std::string> messages_of(std::string_view text, int* without = nullptr) {
  std::vector<std::string> out;
  const int lines = for_each_message(text, [&](const Message& m) {
    out.push_back(concat(m.is_warning ? "!" : "", m.host, '[', m.device.value_or(-1), "]|", m.text,
                         m.is_torn ? "~" : ""));
  });
  if (without != nullptr) *without = lines;
  return out;
}
using Texts = std::vector<std::string>;

TEST(NcclLogMessageTest, HeadersOfEveryEraAndLauncher) {
  for (const char* const prefix :
       {"", "[1,3]<stdout>:", "[1,3]<stderr>:", "0: ", "[2026-03-13 22:26:02] ", "2026-03-13T22:26:02.123Z ",
        "(RayWorker pid=12, ip=192.0.2.1) ", "\x1b[36m(worker)\x1b[0m ", "\x1b[0m"}) {
    EXPECT_EQ(messages_of(concat(prefix, "node01:11:22 [3] NCCL INFO Using network IB")),
              Texts{"node01[3]|Using network IB"})
        << prefix;
  }
  EXPECT_EQ(messages_of("[0] NCCL INFO x"), Texts{"[0]|x"});
  EXPECT_EQ(messages_of("NCCL INFO x"), Texts{"[-1]|x"});
  EXPECT_EQ(messages_of("host-01.example.com:XXXXXX [5] ibvwrap.c:262 NCCL WARN Call"),
            Texts{"!host-01.example.com[5]|Call"});
  EXPECT_EQ(messages_of("n:1:2 [1] include/shm.h:28 NCCL WARN y"), Texts{"!n[1]|y"});
}

TEST(NcclLogMessageTest, IndentationIsKept) {
  EXPECT_EQ(messages_of("n:1:2 [0] NCCL INFO    + PCI[0.2]"), Texts{"n[0]|   + PCI[0.2]"});
}

TEST(NcclLogMessageTest, AMessageEndsWhereAnotherBegins) {
  EXPECT_EQ(messages_of("node01:1:2 [0] NCCL INFO a\n"
                        "node01:1:3 [1] NCCL INFO Trees [4] -1node01:1:2 [2] NCCL INFO b\n"),
            (Texts{"node01[0]|a", "node01[1]|Trees [4] -1~", "node01[2]|b"}));
}

TEST(NcclLogMessageTest, AGluedHostThatNobodyKnowsIsLeftOut) {
  EXPECT_EQ(messages_of("x[0] NCCL INFO Trees -1node09:1:2 [2] NCCL INFO b"),
            (Texts{"[0]|Trees -1node09~", "[2]|b"}));
}

TEST(NcclLogMessageTest, LinesWithoutAMessageAreCounted) {
  int without = 0;
  EXPECT_EQ(messages_of("mpirun started\n\n  \n1->2->0 [5]\nn:1:2 [0] NCCL INFO a\n", &without).size(), 1U);
  EXPECT_EQ(without, 2);
}

TEST(NcclLogMessageTest, AMessageIsAtMost1MiB) {
  std::size_t bytes = 0;
  bool is_torn = false;
  for_each_message("n:1:2 [0] NCCL INFO " + std::string(3 << 20, 'x'), [&](const Message& message) {
    bytes = message.text.size();
    is_torn = message.is_torn;
  });
  EXPECT_EQ(bytes, 1U << 20);
  EXPECT_TRUE(is_torn);
}

TEST(NcclLogMessageTest, AMarkerAloneIsHarmless) {
  EXPECT_EQ(messages_of("NCCL INFO"), Texts{"[-1]|"});
  EXPECT_EQ(messages_of("NCCL INFONCCL WARN"), (Texts{"[-1]|~", "![-1]|"}));
  EXPECT_EQ(messages_of("] NCCL INFO z"), Texts{"[-1]|z"});
  EXPECT_EQ(messages_of("[99999999999] NCCL INFO z"), Texts{"[-1]|z"});
}

}  // namespace
}  // namespace ringcomm::topology::nccl_log
