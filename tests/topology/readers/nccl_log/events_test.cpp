// SPDX-License-Identifier: Apache-2.0
// One line in, the event it tells out: kind and values as documented with LogEventKind.
#include <gtest/gtest.h>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log.hpp"

namespace ringcomm::topology {
namespace {

Reading read(std::string_view text) { return nccl_log::read(text, "x.log").value(); }

/// The events of one message, "key=value" joined by "; ".
std::vector<std::string> told(std::string_view message, LogEventKind kind,
                              std::string_view marker = "NCCL INFO") {
  std::vector<std::string> out;
  for (const auto& event : read(concat("n1:1:2 [3] ", marker, " ", message)).job.events) {
    if (event.kind != kind) continue;
    std::string text;
    for (const auto& [name, value] : event.values) text += concat(text.empty() ? "" : "; ", name, '=', value);
    EXPECT_EQ(event.host, "n1");
    EXPECT_EQ(event.device, 3);
    EXPECT_EQ(event.where, (Where{"x.log", 1}));
    out.push_back(text);
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(NcclLogEventsTest, Versions) {
  EXPECT_EQ(told("NCCL version 2.27.3+cuda12.9", LogEventKind::version),
            Texts{"library=NCCL; version=2.27.3+cuda12.9"});
  EXPECT_EQ(told("RCCL version 2.18.3+hip6.0 HEAD:abc", LogEventKind::version),
            Texts{"library=RCCL; version=2.18.3+hip6.0"});
  EXPECT_EQ(told("cudaDriverVersion 12020", LogEventKind::version),
            Texts{"library=CUDA driver; version=12020"});
}

TEST(NcclLogEventsTest, VariablesAndTheTopologyFile) {
  EXPECT_EQ(told("NCCL_NVLS_ENABLE set by environment to 1.", LogEventKind::environment),
            Texts{"name=NCCL_NVLS_ENABLE; value=1"});
  EXPECT_EQ(told("NCCL_TOPO_FILE set by environment to /etc/topo.xml", LogEventKind::topology_file),
            Texts{"variable=NCCL_TOPO_FILE; path=/etc/topo.xml"});
}

TEST(NcclLogEventsTest, Network) {
  EXPECT_EQ(told("Using network AWS Libfabric", LogEventKind::network), Texts{"name=AWS Libfabric"});
}

TEST(NcclLogEventsTest, WhatAllRanksOfAHostSayIsOneEvent) {
  EXPECT_EQ(read("n1:1:2 [0] NCCL INFO Using network IB\nn1:1:3 [1] NCCL INFO Using network IB\n"
                 "n2:1:3 [1] NCCL INFO Using network IB\n")
                .job.events.size(),
            2U);
}

TEST(NcclLogEventsTest, WhatIsNotUsedIsCounted) {
  const auto reading = read("n1:1:2 [0] NCCL INFO P2P Chunksize set to 524288\nhello\n");
  ASSERT_EQ(reading.skipped.size(), 2U);
  EXPECT_EQ(reading.skipped[0].text, "1");
  EXPECT_EQ(reading.skipped[0].reason, "lines without an NCCL message (count)");
  EXPECT_EQ(reading.skipped[1].text, "1");
  EXPECT_EQ(reading.skipped[1].reason, "messages that tell nothing of the topology (count)");
}

TEST(NcclLogEventsTest, AtMost100000EventsTheRestIsCounted) {
  std::string text;
  for (int i = 0; i < 100005; ++i)
    text += concat("n:1:2 [0] NCCL INFO NCCL_X set by environment to ", i, "\n");
  const auto reading = read(text);
  EXPECT_EQ(reading.job.events.size(), 100000U);
  ASSERT_EQ(reading.skipped.size(), 1U);
  EXPECT_EQ(reading.skipped[0].text, "5");
}

}  // namespace
}  // namespace ringcomm::topology
