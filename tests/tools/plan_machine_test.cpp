// SPDX-License-Identifier: Apache-2.0
// From evidence to the planner's numbers: small files written here, and captured ones where they are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "plan_numbers.hpp"
#include "report.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::planner {
namespace {

const std::filesystem::path kShared = RINGCOMM_SOURCE_DIR "/../shared/data/topology";

/// Four GPUs, links of two widths as on a p3.8xlarge.
constexpr const char* kFourGpus =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\nGPU0\tX\tNV1\tNV1\tNV2\t0-31\nGPU1\tNV1\tX\tNV2\tNV1\t0-31\n"
    "GPU2\tNV1\tNV2\tX\tNV2\t0-31\nGPU3\tNV2\tNV1\tNV2\tX\t0-31\n";

Options options_for(const std::string& file) {
  Options options;
  options.request.shape = llama3_8b();
  options.request.work.tokens = 65536;
  options.machine.evidence = {file};
  options.machine.tflops = 100;
  return options;
}
Report report_of(Options options) {
  auto view = view_machine(options);
  EXPECT_TRUE(view.is_ok()) << view.status().to_string();
  if (!view.is_ok()) return {};
  auto report = make_report(std::move(options), std::move(view).value());
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? std::move(report).value() : Report{};
}

class PlanMachineTest : public testing::Test {
 protected:
  std::string file_with(const std::string& text) {
    const std::string file = folder_.path().string() + "/topo.txt";
    std::ofstream(file) << text;
    return file;
  }
  test::TempDir folder_;
};

TEST_F(PlanMachineTest, UnknownLinkGenerationsStayUnknown) {
  const Report report = report_of(options_for(file_with(kFourGpus)));
  EXPECT_EQ(report.options.request.ranks, 4);
  EXPECT_EQ(report.machine.fabric.local.name, "NV1");
  EXPECT_FALSE(report.machine.fabric.local.bandwidth.gb_per_s.has_value());
  EXPECT_EQ(report.choice.best.missing.transfer,
            "no bandwidth for NV1: run ringcomm-perf --calibrate or give --gb-per-s");
  EXPECT_EQ(report.machine.rings.size(), 2U) << report.machine.rings_explained;
}

TEST_F(PlanMachineTest, FlagsWinOverEvidence) {
  Options options = options_for(file_with(kFourGpus));
  options.machine.gb_per_s = 20;
  options.machine.hosts = 2;
  options.machine.nics = 4;
  options.machine.nic_gb_per_s = 10;
  options.request.cp = 8;
  const Report report = report_of(options);
  EXPECT_EQ(report.options.request.ranks, 8);
  EXPECT_EQ(report.machine.fabric.local.bandwidth.gb_per_s, 20);
  ASSERT_TRUE(report.choice.best.time.has_value());
  EXPECT_FALSE(report.machine.scheme.empty());
  EXPECT_FALSE(report.machine.scheme_explained.empty());
  options.machine.gpus = 2;
  options.request.cp = 4;
  EXPECT_EQ(report_of(options).options.request.ranks, 4);
}

TEST_F(PlanMachineTest, WhatCannotBeReadIsSaid) {
  Options options = options_for("/nonexistent/topo.txt");
  EXPECT_EQ(view_machine(options).status().code(), StatusCode::not_found);
  options = options_for(file_with("nothing that anybody knows\n"));
  EXPECT_FALSE(view_machine(options).is_ok());
  options = options_for(file_with(kFourGpus));
  options.machine.evidence.push_back("/nonexistent/more.txt");
  EXPECT_EQ(report_of(options).machine.unread.size(), 1U);
}

TEST_F(PlanMachineTest, HostsAreOrderedByAFile) {
  Options options = options_for(file_with(kFourGpus));
  options.machine.gb_per_s = 20;
  options.machine.hosts = 2;
  options.machine.nics = 4;
  options.machine.nic_gb_per_s = 10;
  options.request.cp = 8;
  options.machine.node_order = folder_.path().string() + "/order.txt";
  std::ofstream(options.machine.node_order) << "host1\nhost0\n";
  EXPECT_FALSE(report_of(options).machine.scheme.empty());
  std::ofstream(options.machine.node_order) << "host1\nhost7\n";
  auto view = view_machine(options);
  ASSERT_TRUE(view.is_ok());
  const auto report = make_report(options, std::move(view).value());
  EXPECT_NE(report.status().message().find("host7"), std::string_view::npos) << report.status().to_string();
}

TEST_F(PlanMachineTest, ACapturedCubeMeshHasItsThreeRings) {
  const auto file = kShared / "nvidia-smi-topo/dgx1-8xv100-4ib.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "shared data is not here";
  const Report report = report_of(options_for(file.string()));
  ASSERT_EQ(report.machine.rings.size(), 3U);
  EXPECT_EQ(report.machine.fabric.local.name, "NV2");
  EXPECT_EQ(report.machine.fabric.nics_per_host, 4);
  EXPECT_EQ(report.options.request.ranks, 8);
}

}  // namespace
}  // namespace ringcomm::planner
