// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person reads off the lines.
#include "topology/readers/nvidia_smi_nvlink.hpp"

#include <gtest/gtest.h>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;
namespace smi = topology::nvidia_smi_nvlink;

Reading read_ok(std::string_view text) {
  auto reading = smi::read(text, "nvlink.txt");
  EXPECT_TRUE(reading.is_ok()) << reading.status().message();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

TEST(NvidiaSmiNvlinkTest, ActiveAndInactiveLinks) {
  const std::string text = testing::read_text(testing::kOwnData + "nvidia-smi-nvlink/2gpu-status.txt");
  EXPECT_TRUE(smi::looks_like(text));
  const Reading reading = read_ok(text);
  ASSERT_EQ(reading.machine.gpus.size(), 2U);
  const Gpu& first = reading.machine.gpus[0];
  EXPECT_EQ(first.name, "Tesla P9");
  EXPECT_EQ(first.uuid, "GPU-0000-01");
  ASSERT_EQ(first.nvlink_ports.size(), 2U);
  EXPECT_EQ(first.nvlink_ports[0].is_active, true);
  EXPECT_EQ(first.nvlink_ports[0].gb_per_s, 19.5);
  EXPECT_EQ(first.nvlink_ports[1].is_active, false);
  EXPECT_FALSE(first.nvlink_ports[1].gb_per_s) << "an inactive link has no rate, not 0";
  const Gpu& second = reading.machine.gpus[1];
  EXPECT_EQ(second.index, 2);
  EXPECT_EQ(second.uuid, "") << "\"...\" is no UUID";
  EXPECT_EQ(second.nvlink_ports[1].index, 3);
  EXPECT_EQ(second.where.line, 4);
  EXPECT_TRUE(reading.machine.has_link_evidence);
  EXPECT_TRUE(reading.machine.links.empty()) << "which pairs they join is not shown";
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST(NvidiaSmiNvlinkTest, AStateThatIsNotUnderstoodIsUnknown) {
  for (const std::string_view value :
       {"", "26 GB", "-1 GB/s", "0 GB/s", "nan GB/s", "1e99 GB/s", "<active>"}) {
    const Reading reading = read_ok("GPU 0: a\n Link 0: " + std::string(value) + "\n");
    ASSERT_EQ(reading.machine.gpus[0].nvlink_ports.size(), 1U);
    EXPECT_FALSE(reading.machine.gpus[0].nvlink_ports[0].is_active) << value;
    EXPECT_FALSE(reading.machine.gpus[0].nvlink_ports[0].gb_per_s) << value;
    EXPECT_TRUE(has_skipped(reading, 2, "unknown")) << value;
  }
}

TEST(NvidiaSmiNvlinkTest, TheSentenceForNoActiveLink) {
  const std::string text =
      "GPU 0: a (UUID: b)\nNVML: Unable to retrieve NVLink information as all links are inActive\n";
  EXPECT_TRUE(smi::looks_like(text));
  const Reading reading = read_ok(text);
  ASSERT_EQ(reading.machine.gpus[0].nvlink_ports.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].nvlink_ports[0].is_active, false);
}

TEST(NvidiaSmiNvlinkTest, JunkAndSecondOutputsAreReported) {
  const Reading reading = read_ok(
      "....\n Link 7: 25 GB/s\nGPU 1: a (UUID: b)\n Link 0: 25 GB/s\n Link 0: <inactive>\n Link 999: 25 "
      "GB/s\n"
      "GPU 1: a (UUID: c)\n Link 1: 25 GB/s\n");
  ASSERT_EQ(reading.machine.gpus.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].nvlink_ports.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].nvlink_ports[0].is_active, true);
  EXPECT_TRUE(has_skipped(reading, 1, "no line of"));
  EXPECT_TRUE(has_skipped(reading, 2, "which GPU"));
  EXPECT_TRUE(has_skipped(reading, 5, "was there before"));
  EXPECT_TRUE(has_skipped(reading, 6, "no GPU has as many links"));
  EXPECT_TRUE(has_skipped(reading, 7, "a second output"));
  EXPECT_TRUE(has_skipped(reading, 8, "a second output"));
}

TEST(NvidiaSmiNvlinkTest, AMissingIdIsCorrupt) {
  for (const std::string_view text : {"GPU : a (UUID: b)\n", "GPU 0: a\n\t Link : 25 GB/s\n"}) {
    const auto reading = smi::read(text, "nvlink.txt");
    ASSERT_FALSE(reading.is_ok()) << text;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data);
    EXPECT_NE(reading.status().message().find("nvlink.txt:"), std::string::npos);
  }
}

TEST(NvidiaSmiNvlinkTest, LooksAtContentOnly) {
  EXPECT_FALSE(smi::looks_like("GPU 0: NVIDIA H200 (UUID: GPU-1)\n")) << "nvidia-smi -L";
  EXPECT_FALSE(smi::looks_like("GPU 0: a\n Link 0: Replay Errors: 0\n")) << "nvidia-smi nvlink -e";
  EXPECT_FALSE(
      smi::looks_like("GPU 0: a\n Link 0: Remote Device 00000000:0A:00.0: Link 3\n Link 1: <inactive>\n"));
}

TEST(NvidiaSmiNvlinkTest, HostileTextIsBounded) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "GPU " + std::to_string(i) + ": a\nLink 0: 25 GB/s\n";
  const Reading reading = read_ok(text);
  EXPECT_EQ(reading.machine.gpus.size(), 4096U);
  EXPECT_LE(reading.skipped.size(), 1001U);
  EXPECT_TRUE(smi::read(std::string("GPU 0: \0\xff\n Link 0: \0", 20), "f").is_ok());
  EXPECT_TRUE(smi::read("GPU 99999999999999999999: a\n", "f").is_ok());
}

}  // namespace
}  // namespace ringcomm
