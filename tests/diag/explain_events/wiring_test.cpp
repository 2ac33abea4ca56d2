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
