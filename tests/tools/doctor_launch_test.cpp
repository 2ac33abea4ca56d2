// SPDX-License-Identifier: Apache-2.0
// Launch lines are run, with stand-ins for mpirun and numactl that print what they were given.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "doctor_case.hpp"
#include "launch_lines.hpp"
#include "ringcomm/core/text.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::doctor {
namespace {

std::string command_for(const std::vector<Advice>& advice, const std::string& use) {
  for (const Advice& line : advice) {
    if (line.use == use) return line.command;
  }
  return {};
}

void write_script(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// What each local rank would run: mpirun here starts its command once, as rank `rank`.
std::string run_as_rank(const std::string& command, int rank) {
  const test::TempDir folder;
  const std::filesystem::path path = folder.path();
  // Drops mpirun's own options (each has one value here) up to the program.
  write_script(path / "mpirun", "while [ \"${1#-}\" != \"$1\" ]; do shift 2; done; exec \"$@\"");
  write_script(path / "numactl", "echo numactl \"$1\" \"$2\" \"$3\" \"$4\"; shift 4; exec \"$@\"");
  write_script(path / "app", "echo app UCX=$UCX_NET_DEVICES");
  std::ofstream(path / "line") << "cd " << path.string() << "\n" << command << "\n";
  return test::run_program(concat("env PATH=", path.string(), ":$PATH OMPI_COMM_WORLD_LOCAL_RANK=", rank,
                                  " sh ", (path / "line").string()))
      .output;
}

TEST(DoctorLaunchTest, RegularMachineIsMappedByNode) {
  const auto advice = launch_advice(test::four_gpu_case());
  const std::string mpirun = command_for(advice, "Open MPI");
  EXPECT_NE(mpirun.find("mpirun -n 4 --map-by ppr:2:numa --bind-to numa"), std::string::npos) << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 0), "app UCX=mlx5_0:1\n") << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 2), "app UCX=mlx5_1:1\n") << mpirun;
  EXPECT_EQ(command_for(advice, "Slurm"), "srun -n 4 --cpu-bind=map_ldom:0,0,1,1 --mem-bind=local ./app");
  EXPECT_EQ(command_for(advice, "NCCL"), "NCCL_IB_HCA=\"=mlx5_0,mlx5_1\"");
}

TEST(DoctorLaunchTest, NodesInAnotherOrderAreBoundRankByRank) {
  TopologyCase input = test::four_gpu_case();
  const std::vector<int> nodes{1, 0, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) input.rings.placements[i].memory_node = nodes[i];
  const auto advice = launch_advice(input);
  const std::string mpirun = command_for(advice, "Open MPI");
  EXPECT_EQ(mpirun.find("ppr"), std::string::npos) << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 0), "numactl -N 1 -m 1\napp UCX=mlx5_0:1\n") << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 2), "numactl -N 0 -m 0\napp UCX=mlx5_1:1\n") << mpirun;
  EXPECT_EQ(command_for(advice, "Slurm"), "srun -n 4 --cpu-bind=map_ldom:1,0,0,1 --mem-bind=local ./app");
}

TEST(DoctorLaunchTest, RanksThatFollowTheRingGetItsGpusNicAndNode) {
  TopologyCase input = test::four_gpu_case();
  input.rings.best.order = {0, 3, 2, 1};
  const std::string mpirun = command_for(launch_advice(input, RankOrder::best_ring), "Open MPI");
  EXPECT_EQ(run_as_rank(mpirun, 1), "numactl -N 1 -m 1\napp UCX=mlx5_1:1\n") << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 3), "numactl -N 0 -m 0\napp UCX=mlx5_0:1\n") << mpirun;
}

TEST(DoctorLaunchTest, RankIsTheGpuOfThatIndexWhateverTheFilesOrder) {
  TopologyCase input = test::four_gpu_case();
  for (int i = 0; i < 4; ++i) input.evidence.machine.gpus[static_cast<std::size_t>(i)].index = 3 - i;
  const auto advice = launch_advice(input);
  EXPECT_EQ(command_for(advice, "Slurm"), "srun -n 4 --cpu-bind=map_ldom:1,1,0,0 --mem-bind=local ./app");
  const std::string mpirun = command_for(advice, "Open MPI");
  EXPECT_EQ(run_as_rank(mpirun, 0), "numactl -N 1 -m 1\napp UCX=mlx5_1:1\n") << mpirun;
  EXPECT_EQ(run_as_rank(mpirun, 3), "numactl -N 0 -m 0\napp UCX=mlx5_0:1\n") << mpirun;
}

TEST(DoctorLaunchTest, PortsAreCalledWhatTheFileCallsThem) {
  TopologyCase input = test::four_gpu_case();
  for (std::size_t i = 0; i < 2; ++i) {
    auto& ports = input.evidence.machine.nics[i].ports;
    ports.push_back(ports[0]);
    ports[1].number = 2;
    for (std::size_t port = 0; port < 2; ++port) {
      ports[port].net_name = concat("mlx5_", (2 * i) + port);
      ports[port].net_index = static_cast<int>((2 * i) + port);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) input.rings.nics[i].port = static_cast<int>(i % 2) + 1;
  const auto advice = launch_advice(input);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(run_as_rank(command_for(advice, "Open MPI"), rank), concat("app UCX=mlx5_", rank, ":1\n"));
  EXPECT_EQ(command_for(advice, "NCCL"), "NCCL_IB_HCA=\"=mlx5_0,mlx5_1,mlx5_2,mlx5_3\"");
}

TEST(DoctorLaunchTest, IdsWithGapsAreNoDomainNumbers) {
  TopologyCase input = test::four_gpu_case();
  input.evidence.machine.numa_nodes[1].id = 8;
  for (std::size_t i = 2; i < 4; ++i) input.rings.placements[i].memory_node = 8;
  const auto advice = launch_advice(input);
  EXPECT_EQ(command_for(advice, "Slurm"), "");
  EXPECT_NE(command_for(advice, "Open MPI").find("ppr:2:numa"), std::string::npos);
}

TEST(DoctorLaunchTest, WhatIsUnknownIsNotAdvised) {
  TopologyCase input = test::four_gpu_case();
  for (Placement& placement : input.rings.placements) placement = {};
  for (NicChoice& choice : input.rings.nics) choice.nic.reset();
  input.rings.excluded.clear();
  EXPECT_TRUE(launch_advice(input).empty());
  TopologyCase unnamed = test::four_gpu_case();
  for (std::size_t i = 0; i < 3; ++i) unnamed.evidence.machine.nics[i].name = concat("NIC", i);
  for (const Advice& line : launch_advice(unnamed))
    EXPECT_EQ(line.command.find("NIC0"), std::string::npos) << line.command;
  TopologyCase hostile = test::four_gpu_case();
  hostile.evidence.machine.nics[0].name = "mlx5_0$(reboot)";
  for (const Advice& line : launch_advice(hostile))
    EXPECT_EQ(line.command.find("reboot"), std::string::npos) << line.command;
  EXPECT_TRUE(launch_advice(TopologyCase{}).empty());
}

}  // namespace
}  // namespace ringcomm::doctor
