// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person reads off the text.
#include "topology/readers/lspci.hpp"

#include <gtest/gtest.h>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;

Reading read_ok(std::string_view text) {
  auto reading = topology::lspci::read(text, "lspci.txt");
  EXPECT_TRUE(reading.is_ok()) << reading.status().message();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

Reading read_own(const std::string& name) {
  const std::string text = testing::read_text(testing::kOwnData + "lspci/" + name);
  EXPECT_TRUE(topology::lspci::looks_like(text)) << name;
  return read_ok(text);
}

std::string parent_of(const Machine& machine, std::size_t position) {
  const auto parent = machine.pci[position].parent;
  return parent ? machine.pci[static_cast<std::size_t>(*parent)].id.to_text() : "none";
}

TEST(LspciTest, TheBusNumbersOfBridgesMakeTheTree) {
  const Machine machine = read_own("switch-gpu-nic-nn.txt").machine;
  ASSERT_EQ(machine.pci.size(), 7U);
  EXPECT_EQ(parent_of(machine, 0), "none");
  EXPECT_EQ(parent_of(machine, 1), "0000:40:01.0");
  EXPECT_EQ(parent_of(machine, 3), "0000:41:00.0");
  EXPECT_EQ(parent_of(machine, 4), "0000:42:00.0");
  EXPECT_EQ(parent_of(machine, 5), "0000:42:01.0");
  EXPECT_EQ(parent_of(machine, 6), "none") << "another domain";
  EXPECT_TRUE(machine.pci[0].is_bridge);
  EXPECT_FALSE(machine.pci[6].is_bridge) << "an NVSwitch is no PCI bridge";
}

TEST(LspciTest, ClassesVendorsAndDevices) {
  const Machine machine = read_own("switch-gpu-nic-nn.txt").machine;
  EXPECT_EQ(machine.pci[0].class_code, 0x060400U);
  EXPECT_EQ(machine.pci[0].vendor, 0x8086);
  EXPECT_EQ(machine.pci[0].device, 0x352a);
  EXPECT_EQ(machine.pci[6].class_code, 0x068000U);
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].name, "GX99 [Test 9]");
  EXPECT_EQ(machine.gpus[0].pci, 4);
  EXPECT_EQ(machine.gpus[0].bus->to_text(), "0000:43:00.0");
  EXPECT_EQ(machine.gpus[0].numa_node, 1);
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].model, "MT2910 Family [ConnectX-7]");
  EXPECT_EQ(machine.nics[0].name, "0000:44:00.0");
  EXPECT_FALSE(machine.nics[0].numa_node) << "-1 is unknown";
}

TEST(LspciTest, LinksOfNowAndOfTheSlot) {
  const Reading reading = read_own("switch-gpu-nic-nn.txt");
  const Machine& machine = reading.machine;
  EXPECT_EQ(machine.pci[0].slot.gt_per_s, 16.0);
  EXPECT_EQ(machine.pci[0].slot.width, 16);
  EXPECT_EQ(machine.pci[0].link.width, 8);
  EXPECT_EQ(machine.pci[0].link.speed_text, "16GT/s");
  EXPECT_FALSE(machine.pci[1].link.gt_per_s) << "\"unknown\" is no number";
  EXPECT_FALSE(machine.pci[1].link.width) << "x0 is unknown";
  EXPECT_TRUE(has_skipped(reading, 19, "unknown")) << skipped_text(reading);
  EXPECT_EQ(machine.pci[4].link.gt_per_s, 2.5);
  EXPECT_FALSE(machine.pci[4].slot.gt_per_s);
}

TEST(LspciTest, WhatIsSwitchedOnNotWhatIsPossible) {
  const Machine machine = read_own("switch-gpu-nic-nn.txt").machine;
  ASSERT_TRUE(machine.pci[0].acs);
  EXPECT_TRUE(machine.pci[0].acs->request_redirect && machine.pci[0].acs->redirects());
  EXPECT_FALSE(machine.pci[0].acs->completion_redirect || machine.pci[0].acs->direct_translated);
  ASSERT_TRUE(machine.pci[2].acs);
  EXPECT_TRUE(machine.pci[2].acs->source_validation);
  EXPECT_FALSE(machine.pci[2].acs->redirects());
  EXPECT_FALSE(machine.pci[3].acs);
  EXPECT_EQ(machine.pci[0].max_payload_bytes, 256) << "512 is what it could do";
  EXPECT_EQ(machine.pci[0].max_read_request_bytes, 512);
  EXPECT_EQ(machine.pci[0].relaxed_ordering, false);
  EXPECT_EQ(machine.pci[4].relaxed_ordering, true) << "DevSta is not DevCtl";
  EXPECT_EQ(machine.pci[4].max_read_request_bytes, 4096);
  EXPECT_FALSE(machine.pci[5].relaxed_ordering);
}

TEST(LspciTest, WithoutRootLinksAreUnknownAndThatIsSaid) {
  const Reading reading = read_own("not-root.txt");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 2U) << "a BMC's display is no GPU";
  EXPECT_EQ(machine.gpus[0].vendor, GpuVendor::nvidia) << "numbered as nvidia-smi does";
  EXPECT_EQ(machine.gpus[1].vendor, GpuVendor::intel);
  ASSERT_EQ(machine.nics.size(), 1U) << "I350 cannot do RDMA";
  EXPECT_EQ(machine.nics[0].bus->bus, 2);
  EXPECT_EQ(machine.pci[2].device, 0x2330);
  EXPECT_FALSE(machine.pci[2].link.gt_per_s || machine.pci[2].acs);
  EXPECT_TRUE(has_skipped(reading, 0, "run lspci as root")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 7, "a class that is not known"));
  EXPECT_FALSE(machine.pci[5].class_code);
}

TEST(LspciTest, NumbersInsteadOfWords) {
  const Reading reading = read_ok("3b:00.0 0302: 10de:2330 (rev a1)\n3c:00.0 0207: 15b3:1021\n");
  ASSERT_EQ(reading.machine.gpus.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].vendor, GpuVendor::nvidia);
  EXPECT_EQ(reading.machine.nics.size(), 1U);
}

TEST(LspciTest, AMissingIdIsCorrupt) {
  for (const std::string_view text :
       {"01:00.0 3D controller: NVIDIA Corporation\n PCI bridge: Intel Corporation\n",
        "3D controller: NVIDIA\n", "zz:00.0 3D controller: NVIDIA Corporation\n",
        "Bridge: NVIDIA Corporation\n", "nothing\n", ""}) {
    const auto reading = topology::lspci::read(text, "lspci.txt");
    ASSERT_FALSE(reading.is_ok()) << text;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data) << text;
  }
}

TEST(LspciTest, LinesOfOthersAreReportedAndTakenForNoDevice) {
  const Reading reading = read_ok(
      "$ lspci -vvv\n01:00.0 3D controller: NVIDIA Corporation Device 2330\n\tNUMA node: 1\nroot@host:~#\n"
      "\tNUMA node: 7\n01:00.0 3D controller: NVIDIA Corporation Device 2330\n\tNUMA node: 8\n");
  EXPECT_EQ(reading.machine.pci.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].numa_node, 1);
  EXPECT_TRUE(has_skipped(reading, 1, "no device"));
  EXPECT_TRUE(has_skipped(reading, 4, "no device"));
  EXPECT_TRUE(has_skipped(reading, 6, "there before")) << skipped_text(reading);
}

TEST(LspciTest, NoLoopsOfBridges) {
  const Reading reading = read_ok(
      "01:00.0 PCI bridge: Intel Corporation\n\tBus: primary=01, secondary=02, subordinate=02\n"
      "02:00.0 PCI bridge: Intel Corporation\n\tBus: primary=02, secondary=01, subordinate=01\n"
      "03:00.0 PCI bridge: Intel Corporation\n\tBus: primary=03, secondary=03, subordinate=03\n"
      "00:00.0 PCI bridge: Intel Corporation\n\tBus: primary=00, secondary=02, subordinate=02\n"
      "00:01.0 PCI bridge: Intel Corporation\n\tBus: primary=00, secondary=00, subordinate=00\n"
      "00:02.0 PCI bridge: Intel Corporation\n\tBus: primary=00, secondary=xx, subordinate=00\n");
  EXPECT_EQ(parent_of(reading.machine, 0), "none");
  EXPECT_EQ(parent_of(reading.machine, 1), "0000:01:00.0");
  EXPECT_EQ(parent_of(reading.machine, 2), "none");
  EXPECT_TRUE(has_skipped(reading, 4, "not below"));
  EXPECT_TRUE(has_skipped(reading, 6, "not below"));
  EXPECT_TRUE(has_skipped(reading, 8, "two bridges"));
  EXPECT_TRUE(has_skipped(reading, 12, "bus numbers")) << skipped_text(reading);
  EXPECT_EQ(reading.skipped.size(), 4U);
}

TEST(LspciTest, CutValuesAreUnknown) {
  const Reading reading = read_ok(
      "01:00.0 PCI bridge: Intel Corporation\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRed\n"
      "\t\tLnkSta:\tSpeed 32GT\n\tNUMA node: x\n\t\tDevCtl:\tCorrErr+\n\t\t\tMaxPayload 99999999999999999999 "
      "bytes\n");
  EXPECT_FALSE(reading.machine.pci[0].acs);
  EXPECT_FALSE(reading.machine.pci[0].link.gt_per_s);
  EXPECT_FALSE(reading.machine.pci[0].max_payload_bytes);
  for (const int line : {2, 3, 4}) EXPECT_TRUE(has_skipped(reading, line, "")) << line;
}

TEST(LspciTest, HostileTextIsBounded) {
  std::string text;
  for (int i = 0; i < 100000; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%06x:01:00.0 PCI bridge: Intel Corporation\n",
                  static_cast<unsigned>(i));
    text += line;
  }
  const Reading reading = read_ok(text);
  EXPECT_EQ(reading.machine.pci.size(), 4096U);
  EXPECT_LE(reading.skipped.size(), 1001U);
  EXPECT_TRUE(
      topology::lspci::read(std::string("01:00.0 PCI bridge: \0\xff\n\t\0Bus: primary=", 36), "f").is_ok());
  EXPECT_FALSE(topology::lspci::looks_like("00:00:01.123 NCCL INFO Channel: 0\n"));
}

}  // namespace
}  // namespace ringcomm
