// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/evidence_text/read_text_of.hpp"

namespace ringcomm::diag {
namespace {

EventFact warning(const std::string& text) {
  const auto evidence = evidence_of("n1:11:22 [3] misc/a.cc:9 NCCL WARN " + text + "\n");
  EXPECT_EQ(evidence.events.size(), 1U) << text;
  EXPECT_EQ(evidence.events.at(0).who.host, "n1");
  EXPECT_EQ(evidence.events.at(0).who.pid, 11);
  EXPECT_EQ(evidence.events.at(0).who.gpu, 3);
  return evidence.events.at(0);
}

TEST(NcclTest, CallsCountInHexadecimal) {
  const auto evidence = evidence_of(
      "n1:5:5 [2] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 4096 datatype 9 op 2 "
      "root 0 comm 0xab "
      "[nranks=4] stream 0x55\n"
      "n1:5:5 [2] NCCL INFO Send: opCount 20 sendbuff 0x7f recvbuff (nil) count 16 datatype 7 op 0 root 3 "
      "comm 0xab "
      "[nranks=4] stream 0x55\n");
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].seq, 31);
  EXPECT_TRUE(evidence.ops[0].is_hex_seq);
  EXPECT_EQ(evidence.ops[0].elements_in, 4096);
  EXPECT_EQ(evidence.ops[0].dtype, "bfloat16");
  EXPECT_EQ(evidence.ops[0].reduce_op, "max");
  EXPECT_EQ(evidence.ops[0].group, "0xab");
  EXPECT_EQ(evidence.ops[1].peer, 3);
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].size, 4);
  EXPECT_TRUE(has_format(evidence, "nccl_coll_log"));
}

TEST(NcclTest, CallsAreCountedAndGrouped) {
  const auto evidence = evidence_of(
      "n1:5:7 NCCL CALL ncclSend(7f31,1024,7,1,0x55,0x66)\n"
      "n1:5:7 NCCL CALL ncclGroupStart()\n"
      "n1:5:7 NCCL CALL ncclRecv(7f31,1024,7,1,0x55,0x66)\n"
      "n1:5:7 NCCL CALL ncclSend(7f31,1024,7,1,0x55,0x66)\n"
      "n1:5:7 NCCL CALL ncclGroupEnd()\n"
      "n1:5:7 NCCL CALL ncclAllReduce(7f31,7f32,64,9,0,0x55,0x66)\n");
  ASSERT_EQ(evidence.ops.size(), 4U);
  EXPECT_EQ(evidence.ops[0].op, OpClass::send);
  EXPECT_EQ(evidence.ops[0].peer, 1);
  EXPECT_EQ(evidence.ops[0].p2p_seq, 1);
  EXPECT_EQ(evidence.ops[0].coalesced, kUnknown);
  EXPECT_NE(evidence.ops[1].coalesced, kUnknown);
  EXPECT_EQ(evidence.ops[1].coalesced, evidence.ops[2].coalesced);
  EXPECT_EQ(evidence.ops[3].coalesced, kUnknown);
  EXPECT_EQ(evidence.ops[3].elements_in, 64);
  EXPECT_EQ(evidence.ops[3].dtype, "bfloat16");
  EXPECT_EQ(evidence.ops[3].group, "0x55");
}

TEST(NcclTest, InitTellsWhoIsWho) {
  const auto evidence = evidence_of(
      "n1:5:7 [0] NCCL INFO ncclCommInitRankConfig comm 0xab rank 6 nranks 8 cudaDev 0 nvmlDev 2 busId dc000 "
      "commId "
      "0x91 - Init START\n"
      "n1:5:7 [0] NCCL INFO ncclCommInitRankConfig comm 0xab rank 6 nranks 8 cudaDev 0 nvmlDev 2 busId dc000 "
      "commId "
      "0x91 - Init COMPLETE\n"
      "n1:5:7 [0] NCCL INFO ncclCommInitRankConfig comm 0xcd rank 1 nranks 2 cudaDev 0 nvmlDev 2 busId dc000 "
      "commId "
      "0x92 - Init COMPLETE\n");
  ASSERT_EQ(evidence.identities.size(), 1U);  // a rank of the small communicator is not the job's
  EXPECT_EQ(evidence.identities[0].rank, 6);
  EXPECT_EQ(evidence.identities[0].bus_id, "0000:dc:00.0");
  EXPECT_EQ(evidence.identities[0].pid, 5);
  ASSERT_EQ(evidence.groups.size(), 2U);
  EXPECT_EQ(evidence.groups[0].unique_id, "0x91");
  EXPECT_EQ(events_of(evidence, EventKind::init_start).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::init_complete).size(), 2U);
  EXPECT_EQ(evidence.world_size, 8);
}

TEST(NcclTest, CompletionErrorsOfAllForms) {
  const EventFact one = warning(
      "NET/IB : Got completion from peer 10.0.3.5<44206> with status=12 opcode=129 len=65536 "
      "vendor err 129 (Recv) localGid ::ffff:192.0.2.1 remoteGids::ffff:192.0.2.2");
  EXPECT_EQ(one.kind, EventKind::ib_completion);
  EXPECT_EQ(one.code, 12);
  EXPECT_EQ(one.second, 129);
  EXPECT_EQ(one.detail, "Recv");
  EXPECT_EQ(one.who.address, "::ffff:192.0.2.1");
  EXPECT_EQ(one.peer.address, "10.0.3.5");
  EXPECT_EQ(one.peer.name, "::ffff:192.0.2.2");
  EXPECT_EQ(
      warning(
          "NET/IB : Got completion from peer 10.0.3.5<1> with error 4, opcode 1, len 2, vendor err 81 (Send)")
          .code,
      4);
  EXPECT_EQ(
      warning(
          "NET/IB: Got completion from peer 10.0.3.5<1> with status=IBV_WC_RNR_RETRY_EXC_ERR(13) opcode=X(0)")
          .code,
      13);
}

TEST(NcclTest, WarningsByTheirWords) {
  EXPECT_EQ(warning("Error: failed to extend /dev/shm/nccl-x to 99 bytes").kind, EventKind::shm_failed);
  EXPECT_EQ(warning("Call to ibv_create_cq failed with error Cannot allocate memory").kind,
            EventKind::memlock_failed);
  EXPECT_EQ(warning("Call to ibv_reg_mr failed with error Bad address").kind, EventKind::registration_failed);
  EXPECT_EQ(warning("Cuda failure 2 'out of memory'").kind, EventKind::cuda_oom);
  EXPECT_EQ(warning("Cuda failure 'invalid device ordinal'").detail, "invalid device ordinal");
  EXPECT_EQ(warning("Bootstrap : no socket interface found").kind, EventKind::no_interface);
  const EventFact route = warning("socketStartConnect: Connect to 10.9.8.7<4000> failed : No route to host");
  EXPECT_EQ(route.kind, EventKind::no_route);
  EXPECT_EQ(route.peer.address, "10.9.8.7");
  EXPECT_EQ(warning("Call to connect returned Connection refused, retrying").kind, EventKind::connect_failed);
  EXPECT_EQ(warning("socketProgress: Connection closed by remote peer n2<55>").peer.host, "n2");
  EXPECT_EQ(warning("NET/IB : mlx5_1:1 Got async event : port error").kind, EventKind::port_error);
  EXPECT_EQ(warning("Topo : mixed Net device counts").kind, EventKind::mixed_net_devices);
  EXPECT_EQ(warning("P2P is disabled between NVLINK connected GPUs 1 and 0.").detail, "p2p_disabled");
  EXPECT_EQ(warning("something new").kind, EventKind::other);
}

TEST(NcclTest, WarningsWithTwoNumbers) {
  const EventFact gpu = warning("Duplicate GPU detected : rank 2 and rank 5 both on CUDA device 1000");
  EXPECT_EQ(gpu.kind, EventKind::duplicate_gpu);
  EXPECT_EQ(gpu.who.group_rank, 2);
  EXPECT_EQ(gpu.peer.group_rank, 5);
  EXPECT_EQ(gpu.who.bus_id, "0000:01:00.0");
  const EventFact version =
      warning("Mismatched NCCL version detected : rank 1 version 22105 rank 0 version 22602");
  EXPECT_EQ(version.kind, EventKind::version_mismatch);
  EXPECT_EQ(version.peer.group_rank, 1);
  EXPECT_EQ(version.code, 22105);
  EXPECT_EQ(version.second, 22602);
  const EventFact cut =
      warning("NET/Socket : peer 10.0.0.3<5> message truncated : receiving 640 bytes instead of 320");
  EXPECT_EQ(cut.kind, EventKind::truncated_message);
  EXPECT_EQ(cut.code, 640);
  EXPECT_EQ(cut.second, 320);
}

TEST(NcclTest, ChainsWaysAndSettings) {
  const auto evidence = evidence_of(
      "n1:5:7 [0] NCCL INFO transport/p2p.cc:164 -> 1 [Async thread]\n"
      "n1:5:7 [0] NCCL INFO Channel 05/0 : 27[3] -> 35[3] [send] via NET/IB/3/GDRDMA\n"
      "n1:5:7 [0] NCCL INFO Channel 06/0 : 27[3] -> 35[3] [send] via NET/IB/3/GDRDMA\n"
      "n1:5:7 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0.\n"
      "n1:5:7 [0] NCCL INFO Bootstrap : Using eth1:10.1.1.1<0>\n");
  ASSERT_EQ(events_of(evidence, EventKind::return_code).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::return_code)[0].code, 1);
  const auto ways = events_of(evidence, EventKind::transport_used);
  ASSERT_EQ(ways.size(), 1U);  // the same way once
  EXPECT_EQ(ways[0].detail, "NET/IB/3/GDRDMA");
  EXPECT_EQ(ways[0].who.group_rank, 27);
  EXPECT_EQ(ways[0].peer.group_rank, 35);
  ASSERT_EQ(events_of(evidence, EventKind::env_set).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::env_set)[0].detail, "NCCL_IB_HCA=mlx5_0");
  ASSERT_EQ(evidence.identities.size(), 1U);
  EXPECT_EQ(evidence.identities[0].address, "10.1.1.1");
}

}  // namespace
}  // namespace ringcomm::diag
