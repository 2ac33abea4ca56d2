// SPDX-License-Identifier: Apache-2.0
// One line in, the event it tells out: kind and values as documented with LogEventKind.
#include <gtest/gtest.h>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log.hpp"

namespace ringcomm::topology {
namespace {

Reading read(std::string_view text) { return nccl_log::read(text, "x.log").value(); }

/// The events of one message, "key=value" joined by "; ".
std::vector<std::string> told(std::string_view message, LogEventKind kind,
                              std::string_view marker = "NCCL INFO") {
  std::vector<std::string> out;
  for (const auto& event : read(concat("n1:1:2 [3] ", marker, " ", message)).job.events) {
    if (event.kind != kind) continue;
    std::string text;
    for (const auto& [name, value] : event.values) text += concat(text.empty() ? "" : "; ", name, '=', value);
    EXPECT_EQ(event.host, "n1");
    EXPECT_EQ(event.device, 3);
    EXPECT_EQ(event.where, (Where{"x.log", 1}));
    out.push_back(text);
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(NcclLogEventsTest, Versions) {
  EXPECT_EQ(told("NCCL version 2.27.3+cuda12.9", LogEventKind::version),
            Texts{"library=NCCL; version=2.27.3+cuda12.9"});
  EXPECT_EQ(told("RCCL version 2.18.3+hip6.0 HEAD:abc", LogEventKind::version),
            Texts{"library=RCCL; version=2.18.3+hip6.0"});
  EXPECT_EQ(told("cudaDriverVersion 12020", LogEventKind::version),
            Texts{"library=CUDA driver; version=12020"});
}

TEST(NcclLogEventsTest, VariablesAndTheTopologyFile) {
  EXPECT_EQ(told("NCCL_NVLS_ENABLE set by environment to 1.", LogEventKind::environment),
            Texts{"name=NCCL_NVLS_ENABLE; value=1"});
  EXPECT_EQ(told("NCCL_TOPO_FILE set by environment to /etc/topo.xml", LogEventKind::topology_file),
            Texts{"variable=NCCL_TOPO_FILE; path=/etc/topo.xml"});
}

TEST(NcclLogEventsTest, NetworkAndItsInterfaces) {
  EXPECT_EQ(told("Using network AWS Libfabric", LogEventKind::network), Texts{"name=AWS Libfabric"});
  EXPECT_EQ(told("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.1<0>",
                 LogEventKind::interfaces),
            Texts{"plugin=IB; list=mlx5_0,mlx5_1; layers=IB,RoCE"});
  EXPECT_EQ(told("NET/Socket : Using [0]ibp5s0:<0> [1]ibp70s0:<0>", LogEventKind::interfaces),
            Texts{"plugin=Socket; list=ibp5s0,ibp70s0"});
  EXPECT_EQ(told("Bootstrap : Using eth0:192.0.2.149<0>", LogEventKind::interfaces),
            Texts{"plugin=Bootstrap; list=eth0"});
}

TEST(NcclLogEventsTest, TopologyFileOfAPlugin) {
  EXPECT_EQ(told("NET/OFI Running on P4d platform, Setting NCCL_TOPO_FILE environment variable to /x/p4d.xml",
                 LogEventKind::topology_file),
            Texts{"variable=NCCL_TOPO_FILE; path=/x/p4d.xml"});
  EXPECT_EQ(
      told("KV Convert to int : could not find value of '32 GT/s PCIe/s' in dictionary, falling back to 60",
           LogEventKind::out_of_date)
          .size(),
      1U);
}

TEST(NcclLogEventsTest, GpuDirect) {
  EXPECT_EQ(told("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", LogEventKind::gpu_direct),
            Texts{"state=Disabled; hca=mlx5_0"});
  EXPECT_EQ(told("GPU Direct RDMA Enabled for GPU 1a000 / HCA 3 (distance 4 <= 5), read 0",
                 LogEventKind::gpu_direct),
            Texts{"state=Enabled; hca=3"});
}

TEST(NcclLogEventsTest, AffinityMasks) {
  EXPECT_EQ(told("Setting affinity for GPU 0 to ff", LogEventKind::affinity),
            Texts{"gpu=0; mask=ff; cpus=0-7"});
  EXPECT_EQ(told("Setting affinity for GPU 3 to ffff,ffffff00,00000000", LogEventKind::affinity),
            Texts{"gpu=3; mask=ffff,ffffff00,00000000; cpus=40-79"});
  EXPECT_EQ(told("Setting affinity for GPU 3 to 0-3,8-9", LogEventKind::affinity),
            Texts{"gpu=3; mask=0-3,8-9; cpus=0-3,8-9"});
}

TEST(NcclLogEventsTest, Failures) {
  EXPECT_EQ(told("Call to posix_fallocate failed : No space left on device", LogEventKind::shm_failure,
                 "NCCL WARN"),
            Texts{"call=posix_fallocate; error=No space left on device"});
  EXPECT_EQ(told("Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)",
                 LogEventKind::shm_failure, "NCCL WARN")
                .size(),
            1U);
  EXPECT_EQ(
      told("Failed to open libibverbs.so[.1]", LogEventKind::verbs_missing, "misc/ibvwrap.cc:63 NCCL WARN"),
      Texts{"library=libibverbs.so[.1]"});
  EXPECT_EQ(
      told("Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx_x:1, curr state INIT, "
           "next state RTR, local GID index 3, local GID ::1",
           LogEventKind::qp_failure, "ibvwrap.c:262 NCCL WARN"),
      Texts{"call=ibv_modify_qp; code=110; error=Connection timed out; device=mlx_x:1; gid_index=3; "
            "state=INIT; next_state=RTR"});
  EXPECT_EQ(told("Call to ibv_create_qp failed with error Cannot allocate memory", LogEventKind::qp_failure,
                 "NCCL WARN"),
            Texts{"call=ibv_create_qp; error=error Cannot allocate memory"});
  EXPECT_EQ(
      told("P2P is disabled between NVLINK connected GPUs 1 and 0.", LogEventKind::p2p_disabled, "NCCL WARN")
          .size(),
      1U);
  EXPECT_EQ(told("Cuda failure 'out of memory'", LogEventKind::warning, "NCCL WARN"),
            Texts{"text=Cuda failure 'out of memory'"});
}

TEST(NcclLogEventsTest, FabricAndNvls) {
  EXPECT_EQ(told("MNNVL busId 0x901000 fabric UUID 1.1 cliqueId 0x7ffe state 3 healthMask 0xaa",
                 LogEventKind::fabric),
            Texts{"bus=0009:01:00.0; uuid=1.1; clique=0x7ffe; state=3; health=0xaa"});
  EXPECT_EQ(told("NVLS multicast support is not available on dev 2 (NVLS_NCHANNELS 0)", LogEventKind::nvls),
            Texts{"state=not available; channels=0"});
}

TEST(NcclLogEventsTest, Transports) {
  EXPECT_EQ(told("Channel 03/0 : 2[2] -> 3[3] via P2P/CUMEM/read", LogEventKind::transport),
            Texts{"from=2; to=3; via=P2P/CUMEM/read"});
  EXPECT_EQ(told("Ring 00 : 2[3d000] -> 3[3e000] via direct shared memory", LogEventKind::transport),
            Texts{"from=2; to=3; via=direct shared memory"});
  EXPECT_EQ(told("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", LogEventKind::transport),
            Texts{"from=0; to=8; via=NET/IB/0/GDRDMA; direction=send"});
}

TEST(NcclLogEventsTest, Communicators) {
  EXPECT_EQ(told("comm 0x5b7f rank 1 nRanks 8 nNodes 2 localRanks 4 localRank 1 MNNVL 0",
                 LogEventKind::communicator),
            Texts{"rank=1; ranks=8; nodes=2"});
  EXPECT_EQ(
      told("ncclCommInitRankConfig comm 0x5b rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 51000 commId 0x1 - "
           "Init COMPLETE",
           LogEventKind::communicator),
      Texts{"rank=0; ranks=8; bus=0000:51:00.0"});
}

TEST(NcclLogEventsTest, ATornMessageLosesItsLastWord) {
  const auto reading = read(
      "node01:1:2 [0] NCCL INFO a\n"
      "node01:1:2 [1] NCCL INFO comm 0x5 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 410"
      "node01:1:3 [3] NCCL INFO b\n");
  ASSERT_EQ(reading.job.events.size(), 1U);
  EXPECT_EQ(reading.job.events[0].value("ranks"), "4");
  EXPECT_TRUE(reading.job.events[0].value("bus").empty());
  EXPECT_TRUE(reading.machine.gpus.empty());
}

TEST(NcclLogEventsTest, WhatAllRanksOfAHostSayIsOneEvent) {
  EXPECT_EQ(read("n1:1:2 [0] NCCL INFO Using network IB\nn1:1:3 [1] NCCL INFO Using network IB\n"
                 "n2:1:3 [1] NCCL INFO Using network IB\n")
                .job.events.size(),
            2U);
}

TEST(NcclLogEventsTest, WhatIsNotUsedIsCounted) {
  const auto reading = read("n1:1:2 [0] NCCL INFO P2P Chunksize set to 524288\nhello\n");
  ASSERT_EQ(reading.skipped.size(), 2U);
  EXPECT_EQ(reading.skipped[0].text, "1");
  EXPECT_EQ(reading.skipped[0].reason, "lines without an NCCL message (count)");
  EXPECT_EQ(reading.skipped[1].text, "1");
  EXPECT_EQ(reading.skipped[1].reason, "messages that tell nothing of the topology (count)");
}

TEST(NcclLogEventsTest, AtMost100000EventsTheRestIsCounted) {
  std::string text;
  for (int i = 0; i < 100005; ++i)
    text += concat("n:1:2 [0] NCCL INFO NCCL_X set by environment to ", i, "\n");
  const auto reading = read(text);
  EXPECT_EQ(reading.job.events.size(), 100000U);
  ASSERT_EQ(reading.skipped.size(), 1U);
  EXPECT_EQ(reading.skipped[0].text, "5");
}

}  // namespace
}  // namespace ringcomm::topology
