// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person reads off the lines.
#include "topology/readers/nvidia_smi_nvlink_remote.hpp"

#include <gtest/gtest.h>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;
namespace smi = topology::nvidia_smi_nvlink_remote;

TEST(NvidiaSmiNvlinkRemoteTest, PortsAndTheirSumsByTarget) {
  const std::string text = testing::read_text(testing::kOwnData + "nvidia-smi-nvlink/gpu5-remote.txt");
  EXPECT_TRUE(smi::looks_like(text));
  auto reading = smi::read(text, "remote.txt");
  ASSERT_TRUE(reading.is_ok()) << reading.status().message();
  const Machine& machine = reading->machine;
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].index, 5);
  const auto& ports = machine.gpus[0].nvlink_ports;
  ASSERT_EQ(ports.size(), 5U);
  EXPECT_EQ(ports[0].remote->to_text(), "0000:0a:00.0");
  EXPECT_FALSE(ports[0].is_active) << "-R does not say so";
  EXPECT_EQ(ports[3].is_active, false);
  EXPECT_FALSE(ports[3].remote);
  EXPECT_EQ(ports[4].remote_name, "C3");
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_EQ(machine.links[0].count, 2);
  EXPECT_EQ(machine.links[0].target->to_text(), "0000:0a:00.0");
  EXPECT_EQ(machine.links[0].end, LinkEnd::unknown);
  EXPECT_FALSE(machine.links[0].peer);
  EXPECT_EQ(machine.links[1].count, 1);
  EXPECT_EQ(machine.links[1].target->domain, 1U);
  EXPECT_TRUE(machine.has_link_evidence);
  EXPECT_TRUE(has_skipped(reading.value(), 1, "no line of")) << skipped_text(reading.value());
}

TEST(NvidiaSmiNvlinkRemoteTest, AMissingIdIsCorrupt) {
  for (const std::string_view text :
       {"GPU 0: a\n Link 0: Remote Device : Link 3\n", "GPU 0: a\n Link 0: Remote Device\n",
        "GPU 0: a\n Link : Remote Device 00000000:0A:00.0: Link 3\n", "GPU : a\n"}) {
    const auto reading = smi::read(text, "remote.txt");
    ASSERT_FALSE(reading.is_ok()) << text;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data);
  }
}

TEST(NvidiaSmiNvlinkRemoteTest, OtherValuesAreReported) {
  auto reading = smi::read("GPU 0: a\n Link 0: 25 GB/s\n", "remote.txt");
  ASSERT_TRUE(reading.is_ok());
  EXPECT_TRUE(has_skipped(reading.value(), 2, "where the link ends is unknown"));
  EXPECT_TRUE(reading->machine.links.empty());
  EXPECT_FALSE(smi::looks_like("GPU 0: a\n Link 0: 25 GB/s\n"));
}

}  // namespace
}  // namespace ringcomm
