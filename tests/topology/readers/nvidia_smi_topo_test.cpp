// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person reads off the table.
#include "topology/readers/nvidia_smi_topo.hpp"

#include <gtest/gtest.h>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

using testing::gpu_ref;
using testing::has_skipped;
using testing::nic_ref;
using testing::skipped_text;
using testing::stated;
namespace smi = topology::nvidia_smi_topo;

Reading read_ok(std::string_view text) {
  auto reading = smi::read(text, "topo.txt");
  EXPECT_TRUE(reading.is_ok()) << reading.status().message();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

Reading read_own(const std::string& name) {
  const std::string text = testing::read_text(testing::kOwnData + "nvidia-smi-topo/" + name);
  EXPECT_TRUE(smi::looks_like(text)) << name;
  return read_ok(text);
}

TEST(NvidiaSmiTopoTest, TabsAnsiCodesAndAJunkLine) {
  const Reading reading = read_own("3gpu-2nic-ansi.txt");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 3U);
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(stated(machine, gpu_ref(0), gpu_ref(1)), "NV3");
  EXPECT_EQ(stated(machine, gpu_ref(2), gpu_ref(1)), "SYS");
  EXPECT_EQ(stated(machine, gpu_ref(2), nic_ref(1)), "PXB");
  EXPECT_EQ(stated(machine, nic_ref(0), gpu_ref(1)), "PHB");
  EXPECT_EQ(machine.nics[1].name, "mlx5_3");
  EXPECT_EQ(machine.gpus[2].numa_node, 6);
  EXPECT_EQ(machine.gpus[2].cpus, (std::vector<int>{4, 5, 6, 7, 12, 13, 14, 15}));
  EXPECT_FALSE(machine.gpus[2].memory_numa_node);
  EXPECT_EQ(machine.gpus[2].where.line, 5);
  ASSERT_EQ(machine.numa_nodes.size(), 2U);
  EXPECT_EQ(machine.numa_nodes[0].id, 2);
  EXPECT_EQ(machine.numa_nodes[1].cpus, machine.gpus[2].cpus);
  EXPECT_TRUE(machine.has_link_evidence);
  EXPECT_TRUE(machine.has_nic_evidence);
  EXPECT_TRUE(has_skipped(reading, 1, "no line of the table"));
  EXPECT_EQ(reading.skipped.size(), 1U) << skipped_text(reading);
}

TEST(NvidiaSmiTopoTest, RunsOfSpacesAndNamesOfTheNicLegend) {
  const Reading reading = read_own("2gpu-2nic-blanks-legend.txt");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.nics[0].name, "mlx5_bond_1");
  EXPECT_EQ(machine.nics[1].name, "roceo2");
  EXPECT_EQ(stated(machine, gpu_ref(1), nic_ref(1)), "PIX");
  EXPECT_EQ(machine.gpus[1].cpus, (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(machine.gpus[1].numa_node, 3);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST(NvidiaSmiTopoTest, WithoutNvInCellsOrLegendNothingIsSaidAboutLinks) {
  EXPECT_FALSE(read_own("2gpu-2nic-blanks-legend.txt").machine.has_link_evidence);
  constexpr std::string_view kRows = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0\nGPU1\tSYS\t X \t1\n";
  EXPECT_FALSE(read_ok(kRows).machine.has_link_evidence);
  EXPECT_TRUE(
      read_ok(std::string(kRows) + "\nLegend:\n\n  NV#  = bonded NVLinks\n").machine.has_link_evidence);
}

TEST(NvidiaSmiTopoTest, WithoutNicColumnsNothingIsSaidAboutNics) {
  EXPECT_FALSE(
      read_ok("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0\nGPU1\tSYS\t X \t1\n").machine.has_nic_evidence);
}

TEST(NvidiaSmiTopoTest, TheCellsOfTheFirstRowAreTheColumnsWhereThereIsNoHeader) {
  const Reading reading = read_ok(
      "GPU0     X      NV2     SYS     NV2     PIX     0-7     0    N/A\n"
      "GPU1    NV2      X      SYS     NV2     PHB     0-7     0    N/A\n");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 4U) << "a column with an NV cell is a GPU, and so are those before it";
  EXPECT_TRUE(machine.nics.empty());
  EXPECT_EQ(stated(machine, gpu_ref(3), gpu_ref(1)), "NV2");
  EXPECT_EQ(stated(machine, gpu_ref(2), gpu_ref(1)), "SYS");
  EXPECT_EQ(stated(machine, gpu_ref(2), gpu_ref(3)), "none");
  EXPECT_TRUE(has_skipped(reading, 1, "columns without a header")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 1, "its row is missing"));
  EXPECT_TRUE(has_skipped(reading, 1, "1 of its paths"));
  EXPECT_EQ(machine.gpus[1].numa_node, 0);
}

TEST(NvidiaSmiTopoTest, ACutRowIsFilledFromTheOtherHalf) {
  const Reading reading = read_ok(
      "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\n"
      "GPU0\t X \tNV12\tNV18\tPIX\t0-3\nGPU1\tNV12\t X \tNV12\tSYS\t0-3\nGPU2\tNV18\tNV1");
  EXPECT_EQ(stated(reading.machine, gpu_ref(2), gpu_ref(0)), "NV18");
  EXPECT_EQ(stated(reading.machine, gpu_ref(2), gpu_ref(1)), "NV12");
  EXPECT_EQ(stated(reading.machine, gpu_ref(1), gpu_ref(2)), "NV12");
  EXPECT_EQ(stated(reading.machine, gpu_ref(2), nic_ref(0)), "none");
  EXPECT_TRUE(has_skipped(reading, 4, "the text ends after 2 of 4 cells")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 1, "1 of its paths"));
  EXPECT_FALSE(reading.machine.gpus[2].cpus);
}

TEST(NvidiaSmiTopoTest, AWholeRowIsBelievedMoreThanACutOne) {
  const Reading reading = read_ok(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU2\tSYS\tPIX\t X \t0-3\nGPU1\tSYS\t X \tSYS\t0-3\nGPU0\t X \tPHB");
  EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(1)), "SYS");
  EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(2)), "SYS");
}

TEST(NvidiaSmiTopoTest, TheLastNumberOfACutRowIsNotBelieved) {
  const Reading reading = read_ok("\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU2\tNV12\tNV1");
  EXPECT_EQ(stated(reading.machine, gpu_ref(2), gpu_ref(0)), "NV12");
  EXPECT_EQ(stated(reading.machine, gpu_ref(2), gpu_ref(1)), "none");
}

TEST(NvidiaSmiTopoTest, ABlankCellMovesNothing) {
  for (const std::string_view row :
       {"GPU0\t X \t\tNV1\tNV2\t0-3\n", "GPU0     X              NV1     NV2     0-3\n"}) {
    const Reading reading = read_ok("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n" + std::string(row) +
                                    "GPU1\tSYS\t X \tNV1\tNV2\t0-3\nGPU2\tNV1\tNV1\t X \tNV2\t0-3\n"
                                    "GPU3\tNV2\tNV2\tNV2\t X \t0-3\n");
    EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(1)), "SYS") << row;
    EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(2)), "NV1") << row;
    EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(3)), "NV2") << row;
    EXPECT_FALSE(reading.skipped.empty()) << row;
  }
  const Reading moved = read_ok(
      "        GPU0    GPU1    GPU2    CPU Affinity\n"
      "GPU0     X      NV1     NV2     0-3\nGPU1             X      NV3     0-3\nGPU2    NV2     NV3      X  "
      "    0-3\n");
  EXPECT_EQ(stated(moved.machine, gpu_ref(1), gpu_ref(2)), "NV3");
  EXPECT_EQ(stated(moved.machine, gpu_ref(1), gpu_ref(0)), "NV1");
  EXPECT_TRUE(has_skipped(moved, 3, "do not stand under")) << skipped_text(moved);
}

TEST(NvidiaSmiTopoTest, AWordThatIsNoPathIsReported) {
  const Reading reading = read_ok("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPIZ\t0\nGPU1\tPIY\t X \t1\n");
  EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(1)), "none");
  EXPECT_TRUE(has_skipped(reading, 2, "no word of this table")) << skipped_text(reading);
}

TEST(NvidiaSmiTopoTest, HalvesThatDifferAreReported) {
  const Reading reading = read_ok("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0\nGPU1\tNV2\t X \t1\n");
  EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(1)), "NV4");
  EXPECT_EQ(stated(reading.machine, gpu_ref(1), gpu_ref(0)), "NV2");
  EXPECT_TRUE(has_skipped(reading, 2, "one way")) << skipped_text(reading);
}

Gpu first_gpu(std::string_view header_tail, std::string_view tail, Reading* reading = nullptr) {
  Reading all = read_ok("\tGPU0\tGPU1\t" + std::string(header_tail) + "\nGPU0\t X \tSYS\t" +
                        std::string(tail) + "\nGPU1\tSYS\t X \n\nLegend:\n");
  if (reading != nullptr) *reading = all;
  return all.machine.gpus.empty() ? Gpu{} : all.machine.gpus[0];
}

constexpr std::string_view kThree = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID";

TEST(NvidiaSmiTopoTest, AffinityIsSplitByGrammarNotByBlanks) {
  const auto eight = std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11};
  for (const std::string_view tail : {"0-3,8-11\t1\t\tN/A", "0-3,8-11 1 N/A", "0-3,8-11\t\t1\tN/A"}) {
    EXPECT_EQ(first_gpu(kThree, tail).cpus, eight) << tail;
    EXPECT_EQ(first_gpu(kThree, tail).numa_node, 1) << tail;
    EXPECT_FALSE(first_gpu(kThree, tail).memory_numa_node) << tail;
  }
  EXPECT_EQ(first_gpu(kThree, "0-3,8-11N/A\tN/A").cpus, eight);
  EXPECT_EQ(first_gpu("CPU Affinity\tNUMA Affinity", "0-3,8-11\t\tN/A").cpus, eight);
  EXPECT_EQ(first_gpu("CPU Affinity", "0-3,8-11").cpus, eight);
}

TEST(NvidiaSmiTopoTest, ACellAndACpuListWithoutABlank) {
  const Reading reading = read_ok("     GPU0 GPU1 CPU Affinity\nGPU0  X  SYS0-3\nGPU1 SYS  X  4-7\n");
  EXPECT_EQ(reading.machine.gpus[0].cpus, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(stated(reading.machine, gpu_ref(0), gpu_ref(1)), "SYS");
}

TEST(NvidiaSmiTopoTest, NotAvailableIsUnknown) {
  Reading reading;
  const Gpu gpu = first_gpu(kThree, "\t\tN/A", &reading);
  EXPECT_FALSE(gpu.cpus || gpu.numa_node || gpu.memory_numa_node);
  EXPECT_TRUE(reading.machine.numa_nodes.empty());
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST(NvidiaSmiTopoTest, AnEmptyColumnAmongOthersIsReportedNotGuessed) {
  for (const std::string_view tail : {"0-3,8-11\t\t\tN/A", "\t1\t\tN/A", "0-3 1", "0-3 1 N/A N/A"}) {
    Reading reading;
    const Gpu gpu = first_gpu(kThree, tail, &reading);
    EXPECT_FALSE(gpu.cpus || gpu.numa_node) << tail;
    EXPECT_TRUE(has_skipped(reading, 2, "is not shown")) << tail;
  }
}

TEST(NvidiaSmiTopoTest, NodesOfGpuMemoryAreNotNodesOfCpus) {
  Reading reading;
  const Gpu gpu = first_gpu(kThree, "0-71\t0,3-9\t\t2", &reading);
  EXPECT_EQ(gpu.numa_node, 0);
  EXPECT_EQ(gpu.memory_numa_node, 2);
  ASSERT_EQ(reading.machine.numa_nodes.size(), 2U);
  EXPECT_FALSE(reading.machine.numa_nodes[0].is_memory_only());
  EXPECT_TRUE(reading.machine.numa_nodes[1].is_memory_only());
  EXPECT_EQ(reading.machine.numa_nodes[1].subtype, "GPUMemory");
}

TEST(NvidiaSmiTopoTest, SeveralNodesWithoutGpuMemoryAreUnknown) {
  Reading reading;
  EXPECT_FALSE(first_gpu(kThree, "0-71\t0-1\t\tN/A", &reading).numa_node);
  EXPECT_TRUE(has_skipped(reading, 2, "several NUMA nodes")) << skipped_text(reading);
}

TEST(NvidiaSmiTopoTest, BadListsAreReported) {
  for (const std::string_view tail :
       {"0-99999999999999999999 0 N/A", "3-1 0 N/A", "0-3 -1 N/A", "0-3 0 99999999"}) {
    Reading reading;
    first_gpu(kThree, tail, &reading);
    EXPECT_EQ(reading.skipped.size(), 1U) << tail;
  }
}

TEST(NvidiaSmiTopoTest, AMissingIdIsCorrupt) {
  for (const std::string_view text :
       {"\tGPU0\tGPU\tCPU Affinity\nGPU0\t X \tSYS\t0\n", "\tGPU0\tCPU Affinity\nGPU0\t X \tSYS\t0\n",
        "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0\n\tSYS\t X \t0\n",
        "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0\nGPU\tSYS\t X \t0\n",
        "\tGPU0\tGPU0\tCPU Affinity\nGPU0\t X \tSYS\t0\n", "GPU0\t X \tSYS\t0\nGPU1\t X \tSYS\t0\n",
        "nothing"}) {
    const auto reading = smi::read(text, "topo.txt");
    ASSERT_FALSE(reading.is_ok()) << text;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data) << text;
    EXPECT_NE(reading.status().message().find("topo.txt"), std::string::npos) << reading.status().message();
  }
}

TEST(NvidiaSmiTopoTest, ASecondTableIsNotMixedIn) {
  const Reading reading = read_ok(
      "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0\nGPU1\tNV4\t X \t0\n"
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV2\tNV2\t0\n");
  EXPECT_EQ(reading.machine.gpus.size(), 2U);
  EXPECT_TRUE(has_skipped(reading, 4, "a second table")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 5, "no line of the table"));
}

TEST(NvidiaSmiTopoTest, LooksAtContentOnly) {
  EXPECT_TRUE(smi::looks_like("GPU0\t X \t0-7\n GPU1 X PIX"));
  EXPECT_FALSE(smi::looks_like(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n"));
  EXPECT_FALSE(smi::looks_like("GPU 0: Tesla (UUID: GPU-1)\n\t Link 0: 25 GB/s\n"));
  EXPECT_FALSE(smi::looks_like(""));
}

TEST(NvidiaSmiTopoTest, HostileTextIsBounded) {
  std::string wide = "GPU0 X";
  for (int i = 0; i < 50000; ++i) wide += " SYS";
  EXPECT_FALSE(smi::read(wide, "wide").is_ok());
  std::string columns = "GPU0 X";
  for (int i = 0; i < 2000; ++i) columns += " SYS";
  EXPECT_FALSE(smi::read(columns, "wide").is_ok());
  std::string header = "\tGPU0";
  for (int i = 1; i < 2000; ++i) header += "\tGPU" + std::to_string(i);
  EXPECT_FALSE(smi::read(header + "\nGPU0\tX\n", "wide").is_ok());
  std::string tall = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0\n";
  for (int i = 0; i < 50000; ++i) tall += "GPU9\tX\n";
  EXPECT_LE(read_ok(tall).skipped.size(), 1001U);
  constexpr char kNul[] = "GPU0 X SYS\0 \xc3\n\xff\xfe GPU1 SYS X\n";
  const std::string nul(kNul, sizeof(kNul) - 1);
  EXPECT_TRUE(smi::read(nul, "nul").is_ok());
}

}  // namespace
}  // namespace ringcomm
