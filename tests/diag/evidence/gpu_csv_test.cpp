// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/csv/gpu_csv.hpp"

#include <gtest/gtest.h>

namespace ringcomm::diag {
namespace {

HangEvidence read(const std::string& text) { return read_hang_evidence(text, "samples.csv"); }

TEST(GpuCsvTest, NvidiaSmiWithUnits) {
  const HangEvidence evidence = read(
      "$ nvidia-smi --query-gpu=... --format=csv\n"
      "index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W], power.limit [W], "
      "memory.used "
      "[MiB]\n"
      "0, 00000000:3B:00.0, 100 %, 3 %, 112.50 W, 700 W, 1024 MiB\n"
      "1, 00000000:DC:00.0, 0 %, 0 %, [N/A], 700 W, 2 GiB\n");
  EXPECT_EQ(evidence.files[0].formats, std::vector<std::string>{"nvidia_smi_csv"});
  EXPECT_EQ(evidence.files[0].facts, 2U);
  ASSERT_EQ(evidence.gpus.size(), 2U);
  EXPECT_EQ(evidence.gpus[0].who.gpu, 0);
  EXPECT_EQ(evidence.gpus[0].who.bus_id, "0000:3b:00.0");
  EXPECT_EQ(evidence.gpus[0].utilisation_percent, 100.0);
  EXPECT_EQ(evidence.gpus[0].power_watts, 112.5);
  EXPECT_EQ(evidence.gpus[0].memory_bytes, 1024.0 * 1024 * 1024);
  EXPECT_EQ(evidence.gpus[0].columns.at("power.limit [W]"), "700 W");
  EXPECT_EQ(evidence.gpus[0].source.line, 3);
  EXPECT_FALSE(evidence.gpus[1].power_watts.has_value());
  EXPECT_EQ(evidence.gpus[1].memory_bytes, 2048.0 * 1024 * 1024);
  EXPECT_EQ(evidence.gpus[1].utilisation_percent, 0.0);
}

TEST(GpuCsvTest, AMetricsTableHasSamplesByTime) {
  const HangEvidence evidence = read(
      "time;rank;hostname;gpu_util_pct;power_w;mem_used_gb\n"
      "10:00;4;n1;98;600;1\n10:00;5;n1;97;601;1\n10:05;4;n1;100;210;1\n\nnot a row\n10:05;5;n1;100;211;1\n");
  EXPECT_EQ(evidence.files[0].formats, std::vector<std::string>{"gpu_metrics_csv"});
  ASSERT_EQ(evidence.gpus.size(), 4U);
  EXPECT_EQ(evidence.gpus[0].who.rank, 4);
  EXPECT_EQ(evidence.gpus[0].who.host, "n1");
  EXPECT_EQ(evidence.gpus[0].snapshot, 0);
  EXPECT_EQ(evidence.gpus[2].snapshot, 1);
  EXPECT_EQ(evidence.gpus[2].power_watts, 210.0);
  EXPECT_EQ(evidence.gpus[3].snapshot, 1);
  EXPECT_EQ(evidence.gpus[3].source.line, 7);
  EXPECT_EQ(evidence.gpus[0].memory_bytes, 1024.0 * 1024 * 1024);
  EXPECT_EQ(evidence.files[0].ranks, (std::vector<int>{4, 5}));
}

TEST(GpuCsvTest, ARepeatedHeaderIsNoSample) {
  const HangEvidence evidence = read("gpu,util\n0,5\ngpu,util\n0,6\n");
  ASSERT_EQ(evidence.gpus.size(), 2U);
  EXPECT_EQ(evidence.gpus[1].snapshot, 1);
}

TEST(GpuCsvTest, OtherTextIsNoTable) {
  for (const char* text : {"GPU 0, util 98 %, power 300 W\n", "index, name\n0, H100\n", "util,power\n1,2\n",
                           "step,loss,gpu\n1,2,3\n", ",,,\n", "gpu,\n"}) {
    const HangEvidence evidence = read(text);
    EXPECT_TRUE(evidence.gpus.empty()) << text;
    EXPECT_TRUE(evidence.files[0].formats.empty()) << text;
  }
  EXPECT_EQ(read("gpu,util\n").unread.at(0).status.message(), "column names, and no line of values");
  EXPECT_TRUE(read("gpu,util\n-1,nan\n99999999999,inf\n0,\n").gpus.empty());
}

}  // namespace
}  // namespace ringcomm::diag
