// SPDX-License-Identifier: Apache-2.0
// This very machine: whatever it is, its CPUs are there and every source that is missing is said.
#include "ringcomm/topology/discover.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/affinity.hpp"
#include "ringcomm/config.hpp"

namespace ringcomm {
namespace {

TEST(DiscoverTest, FindsTheCpusOfThisProcess) {
  const Machine machine = discover_machine().machine;
  ASSERT_EQ(machine.hosts.size(), 1U) << "all sources are of one host";
  std::set<int> cpus;
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.cpus) cpus.insert(node.cpus->begin(), node.cpus->end());
  }
  if (cpus.empty()) GTEST_SKIP() << "neither hwloc nor /sys shows memory nodes here";
  for (const int cpu : allowed_cpus()) EXPECT_TRUE(cpus.contains(cpu)) << cpu;
}

TEST(DiscoverTest, NothingIsSilent) {
  const MergedEvidence found =
      discover_machine({.root = "/nonexistent", .use_hwloc = true, .use_nvml = false});
  EXPECT_FALSE(found.machine.has_gpu_evidence || found.machine.has_nic_evidence);
  EXPECT_FALSE(found.skipped.empty());
}

#if RINGCOMM_HAVE_HWLOC && RINGCOMM_HAVE_PUGIXML
TEST(DiscoverTest, CoresComeThroughHwloc) {
  const Machine machine = discover_machine({.root = "/", .use_hwloc = true, .use_nvml = false}).machine;
  std::size_t cpus = 0;
  for (const CoreInfo& core : machine.cores) cpus += core.cpus.size();
  EXPECT_GE(cpus, allowed_cpus().size());
  for (const NumaNode& node : machine.numa_nodes) EXPECT_EQ(node.where.line, 0) << "a line of no file";
}
#endif

}  // namespace
}  // namespace ringcomm
