// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::diag {
namespace {

/// `nvidia-smi topo -m` of four GPUs with 12 NVLinks each pair, GPU `weak` with fewer.
std::string matrix(int weak) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n";
  for (int row = 0; row < 4; ++row) {
    text += concat("GPU", row);
    for (int column = 0; column < 4; ++column) {
      const bool is_weak = row == weak || column == weak;
      text += row == column ? "\t X " : is_weak ? "\tNV8" : "\tNV12";
    }
    text += "\t0-15\t0\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n";
}

Facts with_matrix(int weak) {
  Facts facts;
  Result<Reading> reading = read_evidence(matrix(weak), "topo.txt");
  EXPECT_TRUE(reading.is_ok());
  if (reading.is_ok()) facts.evidence.topology.push_back(std::move(reading).value());
  return facts;
}

TEST(WiringTest, EvenNvlinksAreHealthy) {
  const Facts facts = with_matrix(-1);
  const Candidate found = found_by(facts.evidence, "healthy_wiring");
  EXPECT_EQ(found.verdict.kind, FaultKind::none);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.world_size, 4);
}

TEST(WiringTest, AGpuWithFewerNvlinksIsNamed) {
  const Facts facts = with_matrix(2);
  const Candidate found = found_by(facts.evidence, "wiring");
  EXPECT_EQ(found.verdict.kind, FaultKind::nvlink_fault);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
  EXPECT_EQ(found.weight, Weight::background);
  EXPECT_FALSE(has_rule(facts.evidence, "healthy_wiring"));
}

/// Four GPUs at `nics` NICs: one each, or one for two; the last one is near nobody.
Facts with_nics(int nics) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3";
  for (int nic = 0; nic <= nics; ++nic) text += concat("\tNIC", nic);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  const int gpus_each = 4 / nics;
  for (int row = 0; row < 4 + nics + 1; ++row) {
    text += row < 4 ? concat("GPU", row) : concat("NIC", row - 4);
    for (int column = 0; column < 4 + nics + 1; ++column) {
      const int gpu = row < 4 ? row : column;
      const int nic = (row < 4 ? column : row) - 4;
      const bool are_gpus = row < 4 && column < 4;
      const bool are_near = gpu < 4 && nic >= 0 && nic < nics && gpu / gpus_each == nic;
      text += row == column ? "\t X " : are_gpus ? "\tNV12" : are_near ? "\tPXB" : "\tSYS";
    }
    text += row < 4 ? "\t0-15\t0\n" : "\n";
  }
  text += "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n";
  Facts facts;
  Result<Reading> reading = read_evidence(text, "topo.txt");
  EXPECT_TRUE(reading.is_ok());
  if (reading.is_ok()) facts.evidence.topology.push_back(std::move(reading).value());
  return facts;
}

TEST(WiringTest, SharedNicsBesideSpareOnesCostBandwidth) {
  const Candidate found = found_by(with_nics(2).evidence, "wiring");
  EXPECT_EQ(found.verdict.kind, FaultKind::topology_suboptimal);
  EXPECT_EQ(found.verdict.suspects, Labels{"NIC2 (no near GPU)"});
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_NE(found.verdict.fix.find("NCCL_IB_HCA==NIC0,NIC1;"), std::string::npos);
}

TEST(WiringTest, AManagementNicBesideOneNicPerGpuIsHealthy) {
  EXPECT_TRUE(has_rule(with_nics(4).evidence, "healthy_wiring"));
}

TEST(WiringTest, FilesThatKnowSomeGpusOnlyAreAlsoReadAlone) {
  Facts facts = with_matrix(2);
  std::string text = "GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000003)\n";
  for (int link = 0; link < 12; ++link)
    text += concat("\t Link ", link, link < 8 ? ": 26.562 GB/s\n" : ": <inactive>\n");
  Result<Reading> reading = read_evidence(text, "nvlink.txt");
  ASSERT_TRUE(reading.is_ok());
  facts.evidence.topology.push_back(std::move(reading).value());
  const Candidate found = found_by(facts.evidence, "wiring");
  EXPECT_EQ(found.verdict.kind, FaultKind::nvlink_fault);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
  EXPECT_EQ(found.verdict.grade, Grade::certain);
}

TEST(WiringTest, InactiveLinksWithNothingToCompareArePossible) {
  Facts facts;
  Result<Reading> reading = read_evidence(
      "GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000003)\n\t Link 0: 26.562 "
      "GB/s\n"
      "\t Link 1: 26.562 GB/s\n\t Link 2: <inactive>\n\t Link 3: <inactive>\n",
      "nvlink.txt");
  ASSERT_TRUE(reading.is_ok());
  facts.evidence.topology.push_back(std::move(reading).value());
  const Candidate found = found_by(facts.evidence, "wiring");
  EXPECT_EQ(found.verdict.kind, FaultKind::nvlink_fault);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
  EXPECT_EQ(found.verdict.grade, Grade::possible);
}

TEST(WiringTest, BesideAHangHealthyWiringSaysNothing) {
  Facts facts = with_matrix(-1);
  facts.timeout(0, 4);
  EXPECT_FALSE(has_rule(facts.evidence, "healthy_wiring"));
  EXPECT_FALSE(has_rule(facts.evidence, "wiring"));
}

TEST(WiringTest, BesideAHangBrokenLinksArePossible) {
  Facts facts = with_matrix(2);
  facts.timeout(0, 4);
  const Candidate found = found_by(facts.evidence, "wiring");
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.weight, Weight::ordinary);
}

}  // namespace
}  // namespace ringcomm::diag
