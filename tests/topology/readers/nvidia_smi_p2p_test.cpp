// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person reads off the table.
#include "topology/readers/nvidia_smi_p2p.hpp"

#include <gtest/gtest.h>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;
namespace smi = topology::nvidia_smi_p2p;

Reading read_ok(std::string_view text) {
  auto reading = smi::read(text, "p2p.txt");
  EXPECT_TRUE(reading.is_ok()) << reading.status().message();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

std::string status(const Machine& machine, int from, int to, std::string_view capability) {
  for (const P2pStatus& cell : machine.p2p) {
    if (cell.from == from && cell.to == to && cell.capability == capability) return cell.status;
  }
  return "none";
}

TEST(NvidiaSmiP2pTest, TwoTablesWithTheirCommandLines) {
  const std::string text = testing::read_text(testing::kOwnData + "nvidia-smi-p2p/3gpu-read-and-write.txt");
  EXPECT_TRUE(smi::looks_like(text));
  const Reading reading = read_ok(text);
  const Machine& machine = reading.machine;
  EXPECT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(machine.p2p.size(), 12U);
  EXPECT_EQ(status(machine, 0, 2, "read"), "TNS");
  EXPECT_EQ(status(machine, 2, 1, "read"), "CNS");
  EXPECT_EQ(status(machine, 1, 0, "write"), "DR");
  EXPECT_EQ(status(machine, 0, 1, "write"), "OK");
  EXPECT_EQ(status(machine, 0, 2, "write"), "U");
  EXPECT_TRUE(machine.has_gpu_evidence);
  EXPECT_FALSE(machine.has_link_evidence);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST(NvidiaSmiP2pTest, WithoutACommandLineTheCapabilityIsUnknown) {
  const Reading reading = read_ok(" \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n");
  EXPECT_EQ(status(reading.machine, 1, 0, ""), "GNS");
  EXPECT_EQ(reading.machine.p2p.size(), 2U);
  EXPECT_EQ(reading.machine.p2p[1].where.line, 3);
}

TEST(NvidiaSmiP2pTest, OneDirectionIsNeverTakenForTheOther) {
  const Reading reading = read_ok(" \tGPU0\tGPU1\n GPU0\tX\tOK\n");
  EXPECT_EQ(status(reading.machine, 0, 1, ""), "OK");
  EXPECT_EQ(status(reading.machine, 1, 0, ""), "none");
  EXPECT_TRUE(has_skipped(reading, 1, "its row is missing")) << skipped_text(reading);
}

TEST(NvidiaSmiP2pTest, BlanksUnknownWordsAndNotAvailable) {
  const Reading reading =
      read_ok(" \tGPU0\tGPU1\tGPU2\n GPU0\tX\t\tOK\n GPU1\tHUH\tX\tOK\n GPU2\tN/A\tOK\tX\n");
  EXPECT_EQ(reading.machine.p2p.size(), 3U);
  EXPECT_EQ(status(reading.machine, 0, 2, ""), "OK");
  EXPECT_TRUE(has_skipped(reading, 3, "no word of this table")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 2, "empty")) << skipped_text(reading);
}

TEST(NvidiaSmiP2pTest, AMissingIdIsCorrupt) {
  for (const std::string_view text : {" \tGPU0\tGPU\n GPU0\tX\tOK\n", " \tGPU0\tGPU1\n GPU\tX\tOK\n",
                                      " \tGPU0\tGPU1\n \tX\tOK\n", " \tGPU0\n GPU0\tX\tOK\n", ""}) {
    const auto reading = smi::read(text, "p2p.txt");
    ASSERT_FALSE(reading.is_ok()) << text;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data);
  }
}

TEST(NvidiaSmiP2pTest, LooksAtContentOnly) {
  EXPECT_FALSE(smi::looks_like("\tGPU0\tGPU1\nGPU0\t X \tNV4\t0\nGPU1\tNV4\t X \t0\n"));
  EXPECT_FALSE(smi::looks_like("GPU0 X\n"));
  EXPECT_TRUE(smi::looks_like(" GPU0\tX\n\n  OK   = Status Ok\n"));
  EXPECT_TRUE(smi::looks_like("x\n GPU0\tX\tNS\n"));
}

TEST(NvidiaSmiP2pTest, ManyTablesAreBounded) {
  std::string table = " ";
  std::string row = " GPU0 X";
  for (int i = 0; i < 1000; ++i) {
    table += " GPU" + std::to_string(i);
    if (i > 0) row += " OK";
  }
  std::string text;
  for (int i = 0; i < 300; ++i) text += table + "\n" + row + "\n";
  const Reading reading = read_ok(text);
  EXPECT_LE(reading.machine.p2p.size(), 262144U);
  EXPECT_LE(reading.skipped.size(), 1001U);
}

}  // namespace
}  // namespace ringcomm
