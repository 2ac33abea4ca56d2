// SPDX-License-Identifier: Apache-2.0
// A healthy host has no problem; each test makes one thing wrong and expects exactly that finding.
#include "ringcomm/diag/host_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "diag/host/facts_text.hpp"

namespace ringcomm {
namespace {

HostFacts healthy() {
  HostFacts facts;
  facts.boot_id = "boot-1";
  facts.host_name = "node01";
  facts.host_address = "192.0.2.1";
  facts.namespaces = {{"ipc", "ipc:[1]"}, {"pid", "pid:[1]"}, {"net", "net:[1]"}, {"user", "user:[1]"}};
  facts.versions = {{"kernel", "6.1"}, {"ringcomm", "0.1.0"}};
  facts.limits.cpus_allowed = 8;
  facts.limits.cgroup = "v2:/";
  facts.shm_free_bytes = facts.shm_total_bytes = std::uint64_t{8} << 30;
  facts.open_files_max = 65536;
  facts.cpus_allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  facts.node_cpus = {{0, {0, 1, 2, 3, 4, 5, 6, 7}}};
  facts.numa_balancing = 0;
  facts.governor = "performance";
  facts.idle_latency_us_max = 2;
  facts.map_count = 100;
  facts.map_count_max = 65530;
  facts.overcommit_memory = 0;
  facts.transparent_hugepage = "madvise";
  facts.wall_clock_ns = 1'000'000'000;
  for (const char* const probe : {"fd_passing", "memfd_seal", "futex_wake", "loopback_tcp", "cma"})
    facts.probes[probe] = "ok";
  return facts;
}

std::set<std::string> problems_in(const std::vector<Finding>& findings) {
  std::set<std::string> ids;
  for (const Finding& finding : findings) {
    if (finding.state != CheckState::problem) continue;
    EXPECT_FALSE(finding.fix.empty()) << finding.id;
    ids.insert(finding.id);
  }
  return ids;
}

using Ids = std::set<std::string>;

TEST(HostChecksTest, AHealthyHostHasNoProblemAndNothingUnknown) {
  for (const Finding& finding : check_host(healthy(), 4))
    EXPECT_EQ(finding.state, CheckState::ok) << finding.id << ": " << finding.title;
}

struct Fault {
  const char* id;
  void (*make)(HostFacts&);
};

TEST(HostChecksTest, EachFaultIsFoundAlone) {
  const Fault faults[] = {
      {"shm_small", [](HostFacts& f) { f.shm_free_bytes = f.shm_total_bytes = std::uint64_t{64} << 20; }},
      {"memlock_low", [](HostFacts& f) { f.limits.locked_bytes = 65536; }},
      {"open_files_low", [](HostFacts& f) { f.open_files_max = 1024; }},
      {"processes_low", [](HostFacts& f) { f.processes_max = 100; }},
      {"file_size_low", [](HostFacts& f) { f.limits.file_size_bytes = 1 << 20; }},
      {"cpu_quota", [](HostFacts& f) { f.limits.cpu_quota = 4; }},
      {"numa_balancing",
       [](HostFacts& f) {
         f.numa_balancing = 1;
         f.node_cpus[1] = {8};
       }},
      {"cpu_governor",
       [](HostFacts& f) {
         f.governor = "powersave";
         f.cpufreq_driver = "acpi-cpufreq";
       }},
      {"idle_states", [](HostFacts& f) { f.idle_latency_us_max = 133; }},
      {"fork_safe_huge_pages",
       [](HostFacts& f) {
         f.variables["RDMAV_FORK_SAFE"] = "1";
         f.huge_pages = 8;
       }},
      {"map_count", [](HostFacts& f) { f.map_count = 60000; }},
      {"overcommit", [](HostFacts& f) { f.overcommit_memory = 2; }},
      {"sysfs_hidden", [](HostFacts& f) { f.has_sysfs = false; }},
      {"variable_unknown", [](HostFacts& f) { f.variables["RINGCOMM_TIMEOUTT"] = "1s"; }},
      {"nccl_conf", [](HostFacts& f) { f.config_files = {"/etc/nccl.conf"}; }},
      {"probe_cma",
       [](HostFacts& f) { f.probes["cma"] = "process_vm_readv failed: Operation not permitted"; }},
      {"probe_futex_wake", [](HostFacts& f) { f.probes["futex_wake"] = "no answer within 5000 ms"; }},
      {"memory_limit",
       [](HostFacts& f) {
         f.limits.memory_limit_bytes = std::uint64_t{1} << 30;
         f.limits.memory_used_bytes = (std::uint64_t{1} << 30) - 1000;
       }},
  };
  for (const Fault& fault : faults) {
    HostFacts facts = healthy();
    fault.make(facts);
    EXPECT_EQ(problems_in(check_host(facts, 4)), Ids{fault.id});
  }
}

TEST(HostChecksTest, FalseAlarms) {
  HostFacts facts = healthy();
  facts.numa_balancing = 1;  // one memory node has nothing to balance
  facts.governor = "powersave";
  facts.cpufreq_driver = "intel_pstate";  // with hardware control no brake
  facts.transparent_hugepage = "always";  // without a fork-safe mode no matter
  EXPECT_EQ(problems_in(check_host(facts, 4)), Ids{});
}

TEST(HostChecksTest, RdmaMakesALowLockLimitAFailure) {
  HostFacts facts = healthy();
  facts.limits.locked_bytes = 65536;
  EXPECT_EQ(exit_code_of(check_host(facts, 4)), 1);
  facts.rdma_devices = 1;
  EXPECT_EQ(exit_code_of(check_host(facts, 4)), 2);
}

TEST(HostChecksTest, WhatCouldNotBeReadIsUnknownNeverOk) {
  HostFacts facts = healthy();
  facts.shm_free_bytes.reset();
  facts.numa_balancing.reset();
  facts.governor.clear();
  facts.idle_latency_us_max.reset();
  facts.map_count.reset();
  facts.overcommit_memory.reset();
  facts.probes.clear();
  int unknown = 0;
  for (const Finding& finding : check_host(facts, 4)) unknown += finding.state == CheckState::unknown ? 1 : 0;
  EXPECT_EQ(unknown, 11);
}

TEST(HostChecksTest, MoreRanksThanCpusIsSaid) {
  EXPECT_EQ(problems_in(check_host(healthy(), 9)), Ids{"cpus_few"});
}

TEST(RankChecksTest, AlikeRanksHaveNoProblem) {
  EXPECT_EQ(problems_in(check_ranks({healthy(), healthy(), healthy()})), Ids{});
  EXPECT_TRUE(check_ranks({healthy()}).empty());
}

const Finding& finding_of(const std::vector<Finding>& findings, std::string_view id) {
  return *std::ranges::find_if(findings, [&](const Finding& f) { return f.id == id; });
}

TEST(RankChecksTest, DifferingValuesAreListedWithTheirRanks) {
  std::vector<HostFacts> facts(4, healthy());
  facts[2].versions["nvidia driver"] = "550.54";
  facts[1].variables["NCCL_IB_HCA"] = "mlx5_0";
  facts[0].variables["CUDA_VISIBLE_DEVICES"] = "0";  // each rank has its own
  facts[3].variables["OMPI_MCA_ess_base_vpid"] = "3";
  facts[3].variables["UCX_NET_DEVICES"] = "mlx5_3:1";
  const auto findings = check_ranks(facts);
  EXPECT_EQ(problems_in(findings), (Ids{"versions_differ", "variables_differ"}));
  const Finding& versions = finding_of(findings, "versions_differ");
  ASSERT_EQ(versions.evidence.size(), 2U);
  EXPECT_EQ(versions.evidence[0].read, "nvidia driver (not there): ranks 0,1,3");
  EXPECT_EQ(versions.evidence[1].read, "nvidia driver 550.54: rank 2");
  EXPECT_EQ(finding_of(findings, "variables_differ").evidence[1].read, "NCCL_IB_HCA mlx5_0: rank 1");
}

TEST(RankChecksTest, NamespacesMatterWithinOneHostOnly) {
  std::vector<HostFacts> facts(3, healthy());
  facts[2].namespaces["ipc"] = "ipc:[2]";
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"namespaces_differ"});
  facts[2].boot_id = "boot-2";
  facts[2].host_name = "node02";
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{});
}

TEST(RankChecksTest, OverlappingBindingsAreFound) {
  std::vector<HostFacts> facts(2, healthy());
  facts[0].cpus_allowed = {0, 1, 2, 3};
  facts[1].cpus_allowed = {3, 4};
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"cores_shared"});
  facts[1].cpus_allowed = {4, 5};
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{});
  facts[0].cpus_allowed = facts[1].cpus_allowed = {4};
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"ranks_on_one_cpu"});
}

TEST(RankChecksTest, UnboundRanksOnSeveralNodesAreWarnedAbout) {
  std::vector<HostFacts> facts(2, healthy());
  for (HostFacts& rank : facts) {
    rank.node_cpus = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}, {2, {}}};  // node 2 is a GPU's memory
  }
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"ranks_unbound"});
}

TEST(RankChecksTest, NamesAndClocks) {
  std::vector<HostFacts> facts(2, healthy());
  facts[1].boot_id = "boot-2";
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"host_name_shared"});
  facts[1].host_name = "node02";
  facts[1].host_address = "127.0.1.1";
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"host_name_loopback"});
  facts[1].host_address = "192.0.2.2";
  facts[1].wall_clock_ns = *facts[0].wall_clock_ns + 50'000'000;
  EXPECT_EQ(problems_in(check_ranks(facts)), Ids{"clock_skew"});
  facts[1].wall_clock_ns.reset();
  EXPECT_EQ(finding_of(check_ranks(facts), "clock_skew").state, CheckState::unknown);
}

TEST(HostCheckIdsTest, EveryFindingIsInTheTable) {
  Ids known;
  for (const CheckId& check : host_check_ids())
    EXPECT_TRUE(known.insert(std::string(check.id)).second) << check.id;
  for (const Finding& finding : check_host(healthy(), 4))
    EXPECT_TRUE(known.contains(finding.id)) << finding.id;
  for (const Finding& finding : check_ranks({healthy(), healthy()}))
    EXPECT_TRUE(known.contains(finding.id)) << finding.id;
}

TEST(FactsTextTest, ListsGoBothWays) {
  EXPECT_EQ(diag::cpu_list("0-2,7"), (std::vector<int>{0, 1, 2, 7}));
  EXPECT_EQ(diag::list_text({0, 1, 2, 7, 9, 10}), "0-2,7,9,10");
  EXPECT_EQ(diag::cpu_list("0-x"), std::vector<int>{});
  EXPECT_EQ(diag::list_text({}), "");
}

}  // namespace
}  // namespace ringcomm
