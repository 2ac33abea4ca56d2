// SPDX-License-Identifier: Apache-2.0
// What stands on the screen, for a machine whose paths and rings are known by hand.
#include <gtest/gtest.h>

#include <sstream>

#include "cluster_text.hpp"
#include "compare_text.hpp"
#include "doctor_case.hpp"
#include "finding_text.hpp"
#include "labels.hpp"
#include "machine_text.hpp"
#include "path_text.hpp"
#include "places.hpp"
#include "ring_text.hpp"
#include "topo_report.hpp"

namespace ringcomm::doctor {
namespace {

using ::testing::AssertionResult;

AssertionResult has(const std::string& text, const std::string& piece) {
  if (text.find(piece) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << piece << "\" is missing in:\n" << text;
}
AssertionResult has_not(const std::string& text, const std::string& piece) {
  if (text.find(piece) == std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << piece << "\" is in:\n" << text;
}
std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) columns = std::max(columns, columns_of(line));
  return columns;
}

Finding finding(std::string id, Severity severity, std::string cause = {}) {
  Finding out;
  out.id = std::move(id);
  out.severity = severity;
  out.cause = std::move(cause);
  out.title = "Title of " + out.id;
  out.evidence = {{"2 of 4", "4", {"/long/way/nvlink.txt", 7}}, {"second", "", {}}, {"third", "", {}}};
  out.fix = "nvidia-smi -r";
  return out;
}

TEST(DoctorLabelsTest, CpuListsAreFolded) {
  EXPECT_EQ(cpu_list({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(cpu_list({}), "none");
}

TEST(DoctorLabelsTest, UnknownSpeedIsAQuestionMarkAndNeverZero) {
  EXPECT_EQ(speed(std::optional<double>()), "?");
  EXPECT_EQ(speed(Bandwidth{}), "?");
  EXPECT_EQ(speed(Bandwidth{40.0, Source::table}), "40 GB/s (table)");
  EXPECT_EQ(speed(std::optional(0.19)), "0.19 GB/s");
}

TEST(DoctorRingTextTest, IdlePortsAreNamed) {
  TopologyCase input = test::four_gpu_case();
  EXPECT_TRUE(has_not(ring_text(input, {}), "idle ports"));
  auto& ports = input.evidence.machine.nics[1].ports;
  ports.push_back(ports[0]);
  ports[1].number = 2;
  EXPECT_TRUE(has(ring_text(input, {}), "idle ports: mlx5_1:2 "));
  for (std::size_t i = 0; i < 2; ++i) {
    ports[i].net_name = i == 0 ? "mlx5_1" : "mlx5_4";
    ports[i].net_index = static_cast<int>(i);
  }
  EXPECT_TRUE(has(ring_text(input, {}), "idle ports: mlx5_4 "));
}

TEST(DoctorMachineTextTest, EveryPackageIsABoxWithItsDevices) {
  const TopologyCase input = test::four_gpu_case();
  const std::string text = machine_text(input, {});
  EXPECT_TRUE(has(text, "package 0: Test CPU 32C"));
  EXPECT_TRUE(has(text, "NUMA 1  CPUs 32-63  256 GiB"));
  EXPECT_TRUE(has(text, "GPU0 10:00.0 ──PIX── mlx5_0 200 Gb/s"));
  EXPECT_TRUE(has(text, "mlx5_2 22:00.0 10 Gb/s  NOT ACTIVE"));
  EXPECT_LE(widest(text), kScreenColumns);
  EXPECT_TRUE(has(summary_of(input.evidence.machine), "4 GPUs (Test GPU), 3 NICs, 2 NUMA nodes"));
}

TEST(DoctorMachineTextTest, EveryDeviceHasAPlaceAlsoWhenNothingIsKnownOfIt) {
  TopologyCase input = test::four_gpu_case();
  Machine& machine = input.evidence.machine;
  machine.packages.clear();
  machine.numa_nodes.clear();
  for (Gpu& gpu : machine.gpus) gpu.numa_node.reset();
  for (Nic& nic : machine.nics) nic.numa_node.reset();
  machine.gpus[0].cpus = std::vector<int>{0, 1};
  const auto packages = find_places(machine, input.paths);
  std::size_t gpus = 0, nics = 0;
  for (const PackagePlaces& package : packages) {
    for (const Place& place : package.places) {
      gpus += place.gpus.size();
      nics += place.nics.size();
    }
  }
  EXPECT_EQ(gpus, 4U);
  EXPECT_EQ(nics, 3U);
  const std::string text = machine_text(input, {});
  EXPECT_TRUE(has(text, "near CPUs 0-1"));
  EXPECT_TRUE(has(text, "place unknown"));
  EXPECT_TRUE(has(summary_of(machine), "NUMA nodes unknown"));
}

TEST(DoctorMachineTextTest, NoDevicesInTheFileIsNotNoDevice) {
  Machine machine;
  EXPECT_TRUE(has(summary_of(machine), "GPUs unknown, NICs unknown"));
  machine.has_gpu_evidence = machine.has_nic_evidence = true;
  EXPECT_TRUE(has(summary_of(machine), "no GPU, no NIC"));
}

TEST(DoctorPathTextTest, MatrixShowsClassesAndSaysWhatIsUnknown) {
  TopologyCase input = test::four_gpu_case();
  std::string text = path_text(input, {});
  EXPECT_TRUE(has(text, "       GPU0 GPU1 GPU2 GPU3 mlx5_0 _1  _2"));
  EXPECT_TRUE(has(text, "  GPU0 X    NV2  SYS  NV1  PIX    SYS SYS"));
  EXPECT_TRUE(has_not(text, "? = unknown"));
  input.paths.paths[1].path_class = PathClass::unknown;
  input.paths.paths[1].reason = "the table was cut";
  text = path_text(input, {});
  EXPECT_TRUE(has(text, "? = unknown, 1 pair; GPU0-GPU1: the table was cut"));
}

TEST(DoctorPathTextTest, ManyDevicesAreCounted) {
  TopologyCase input;
  for (int i = 0; i < 20; ++i) {
    Gpu gpu;
    gpu.index = i;
    input.evidence.machine.gpus.push_back(gpu);
    input.paths.devices.push_back({PartKind::gpu, i});
  }
  input.evidence.machine.hosts.resize(1);
  for (int i = 0; i < 400; ++i) {
    Path path;
    path.path_class = i % 21 == 0 ? PathClass::loc : PathClass::nvl;
    path.nvlinks = 6;
    input.paths.paths.push_back(path);
  }
  EXPECT_TRUE(has(path_text(input, {}), "GPU-GPU   380 x NV6"));
  TextStyle verbose;
  verbose.verbose = true;
  const std::string matrix = path_text(input, verbose);
  EXPECT_TRUE(has(matrix, "GPU19"));
  EXPECT_LE(widest(matrix), kScreenColumns);
}

TEST(DoctorRingTextTest, OrderEdgeNicAndCoresOfEachRank) {
  const TopologyCase input = test::four_gpu_case();
  const std::string text = ring_text(input, {});
  EXPECT_TRUE(has(text, "[0 1 2 3]"));
  EXPECT_TRUE(has(text, "slowest edge NV1, 20 GB/s; edges 2 x NV1, 2 x NV2; no better order exists"));
  EXPECT_TRUE(has(text, "GPU1 → GPU2  NV1   20 GB/s (table)      mlx5_0 PIX  0-31 (NUMA 0)"));
  EXPECT_TRUE(has(text, "not used: mlx5_2 (not ACTIVE (Down, Polling))"));
  EXPECT_TRUE(has_not(text, "by hand"));
  TextStyle explain;
  explain.explain = true;
  EXPECT_TRUE(has(ring_text(input, explain), "GPU1 → GPU2: NV1, 20 GB/s (table); 1 NVLinks, by hand"));
}

TEST(DoctorRingTextTest, WithoutARingTheReasonIsSaid) {
  TopologyCase input;
  EXPECT_TRUE(has(ring_text(input, {}), "No device is known"));
  input.rings_status = Status::invalid_argument("a reason of the planner");
  EXPECT_TRUE(has(ring_text(input, {}), "a reason of the planner"));
}

TEST(DoctorCompareTextTest, SlowerOrderIsShownEdgeByEdgeWithWhatToSet) {
  const TopologyCase input = test::four_gpu_case();
  PlanComparison comparison;
  comparison.is_known = true;
  comparison.source = "NCCL channel 00 of nccl.log:12";
  comparison.order = {0, 2, 1, 3};
  comparison.is_ok = false;
  comparison.slowest_now = "SYS";
  comparison.slowest_best = "NV1";
  comparison.edges = {{{PartKind::gpu, 0},
                       {PartKind::gpu, 2},
                       {PartKind::gpu, 1},
                       "SYS",
                       "NV2",
                       {10.0, Source::table},
                       {40.0, Source::table},
                       "no link"}};
  comparison.links_total = 12;
  comparison.links_used_now = 4;
  comparison.links_used_best = 12;
  comparison.variable = "RINGCOMM_RING_ORDER=0,1,2,3";
  const std::string text = compare_text(input, comparison, {});
  EXPECT_TRUE(has(
      text, "NCCL channel 00 of nccl.log:12 [0 2 1 3]: slower than the best; slowest edge SYS, best NV1"));
  EXPECT_TRUE(has(text, "GPU0 → GPU2 now SYS 10 GB/s; best → GPU1 NV2 40 GB/s\n"));
  TextStyle explain;
  explain.explain = true;
  EXPECT_TRUE(has(compare_text(input, comparison, explain), "NV2 40 GB/s; no link"));
  EXPECT_TRUE(has(text, "RINGCOMM_RING_ORDER=0,1,2,3"));
  comparison.is_ok = true;
  EXPECT_TRUE(has(compare_text(input, comparison, {}), "as good as the best"));
  EXPECT_TRUE(has_not(compare_text(input, comparison, {}), "RINGCOMM_RING_ORDER=0,1,2,3"));
}

TEST(DoctorCompareTextTest, ReasonWhyARingWasNotTakenIsShown) {
  const TopologyCase input = test::four_gpu_case();
  PlanComparison comparison;
  comparison.order = {0, 1, 2, 3};
  comparison.source = "NCCL channel 0 of a.log:3 has 2 ranks, which are not the 4 devices";
  EXPECT_TRUE(has(compare_text(input, comparison, {}), "a.log:3 has 2 ranks"));
  comparison.source = "nothing is configured in the evidence; the devices' own order is shown";
  EXPECT_TRUE(has(compare_text(input, comparison, {}), "nothing in the evidence; ranks in order of devices"));
}

TEST(DoctorCompareTextTest, RingsWithoutTheirDevicesAreShown) {
  TopologyCase input;
  EXPECT_EQ(compare_text(input, {}, {}), "");
  ConfiguredGraph graph;
  graph.rings = {{2, {0, 3, 2, 1}, {"/far/graph.xml", 4}, {}}};
  input.evidence.job.graphs = {graph};
  EXPECT_EQ(compare_text(input, {}, {}), "");  // of an unknown pattern
  input.evidence.job.graphs[0].pattern = 4;
  EXPECT_TRUE(has(compare_text(input, {}, {}), "channel 2 [0 3 2 1] (graph.xml:4)"));
}

TEST(DoctorCompareTextTest, NothingIsClaimedOfUnknownPaths) {
  TopologyCase input = test::four_gpu_case();
  PlanComparison comparison;
  comparison.order = {0, 1, 2, 3};
  EXPECT_TRUE(has(compare_text(input, comparison, {}), "  Set\n"));
  input.rings.graph.level_names = {"?", "?", "?"};
  const std::string text =
      ring_text(input, {}) + compare_text(input, comparison, {}) + verdict_text(input, {}, 0);
  for (const char* claim : {"no better order exists", "as good as the best", "Verdict: ok", "  Set\n"})
    EXPECT_TRUE(has_not(text, claim));
  EXPECT_TRUE(has(text, "whether another is better"));
}

TEST(DoctorClusterTextTest, RailIsTheNicsNameOnEveryHost) {
  TopologyCase input = test::four_gpu_case();
  Machine& machine = input.evidence.machine;
  machine.hosts.push_back({"node02", "", false});
  for (std::size_t i = 2; i < 4; ++i) machine.gpus[i].host = 1;
  machine.nics[1].host = 1;
  // GPUs 0, 1 have mlx5_0 and GPUs 2, 3 mlx5_1 of the other host: no rail is common.
  const std::string apart = cluster_text(input, Rails::same_index, {});
  machine.nics[1].name = "mlx5_0";
  const std::string same = cluster_text(input, Rails::same_index, {});
  EXPECT_NE(apart, same);
  EXPECT_TRUE(has(same, "hops across rails 0"));
  EXPECT_TRUE(has(apart, "no NIC index is common to all hosts"));
  EXPECT_TRUE(has_not(same, "no NIC index is common"));
}

TEST(DoctorFindingTextTest, FollowersStandUnderTheirCause) {
  Finding root = finding("nvlink_inactive", Severity::failure);
  root.needs_root = true;
  root.needs_reboot = true;
  Finding unknown = finding("iommu", Severity::warning);
  unknown.state = CheckState::unknown;
  const std::string text =
      finding_text({root, finding("plan_slower", Severity::warning, "nvlink_inactive"), unknown}, {});
  EXPECT_TRUE(has(text, "Findings: 1 failure and 1 warning"));
  EXPECT_TRUE(has(text, "  FAIL    Title of nvlink_inactive [nvlink_inactive]"));
  EXPECT_TRUE(has(text, "read   2 of 4; wanted 4 (nvlink.txt:7)"));
  EXPECT_TRUE(has(text, "fix    nvidia-smi -r [root, reboot]"));
  EXPECT_TRUE(has(text, "and 1 more (--verbose)"));
  EXPECT_TRUE(has(text, "\n    WARN    Title of plan_slower"));
  EXPECT_TRUE(has(text, "Not known: 1 check (--verbose says why)\n  iommu\n  run     nvidia-smi -r"));
  EXPECT_TRUE(has(finding_text({}, {}), "none"));
}

TEST(DoctorFindingTextTest, VerdictIsOneLineWithTheCode) {
  const TopologyCase input = test::four_gpu_case();
  EXPECT_EQ(verdict_text(input, {}, kOk), "Verdict: ok, slowest edge of the ring NV1 (exit code 0)\n");
  EXPECT_EQ(verdict_text(input, {finding("nvlink_inactive", Severity::failure)}, kFailures),
            "Verdict: 1 failure; begin with nvlink_inactive (exit code 2)\n");
  EXPECT_TRUE(has(verdict_text(input, {}, kUnreadable), "could not be read"));
  EXPECT_TRUE(has(verdict_text(input, {finding("x", Severity::info)}, kOk), "ok"));
}

TEST(DoctorFindingTextTest, NothingIsSkippedInSilence) {
  TopologyCase input = test::four_gpu_case();
  input.unread = {{"again.xml", Status::corrupt_data("again.xml:3: cut")},
                  {"dump.xml", Status::corrupt_data("cut inside <cpu>")}};
  input.evidence.skipped = {{{"topo.txt", 3}, "GPU9 what", "a row of no GPU"}};
  input.evidence.contradictions = {{"GPU3 NVLinks", "18", {"a.xml", 4}, "17", {"b.txt", 9}}};
  input.paths.left_out = {{.kind = PartKind::gpu, .position = 0}, {.kind = PartKind::nic, .position = 0}};
  std::string text = unread_text(input, {});
  EXPECT_TRUE(has(text, "left out  2 devices beyond the first 512: no path"));
  EXPECT_TRUE(has(text, "not read  dump.xml: cut inside <cpu>"));
  EXPECT_TRUE(has(text, "not read  again.xml:3: cut"));  // its name once
  EXPECT_TRUE(has(text, "skipped   1 line or value (--verbose"));
  TextStyle verbose;
  verbose.verbose = true;
  text = unread_text(input, verbose);
  EXPECT_TRUE(has(text, "topo.txt:3: a row of no GPU: GPU9 what"));
  EXPECT_TRUE(has(text, "differs   GPU3 NVLinks: 18 (a.xml:4) and 17 (b.txt:9); the first is used"));
  EXPECT_EQ(unread_text(test::four_gpu_case(), {}), "");
}

TEST(DoctorReportTest, FitsTheScreenAndKeepsForeignTextInPlace) {
  TopoReport report;
  report.input = test::four_gpu_case();
  report.input.evidence.machine.gpus[1].name = "evil\x1b[2J\nname";
  report.sources = {{"/tmp/topo.txt", "nvidia-smi-topo"}};
  report.comparison.order = {0, 1, 2, 3};
  report.comparison.source = "rank order";
  const std::string text = topo_text(report, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LE(widest(text), kScreenColumns) << text;
  EXPECT_LE(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), 50U) << text;
}

}  // namespace
}  // namespace ringcomm::doctor
