// SPDX-License-Identifier: Apache-2.0
// What happened to processes: stacks, exceptions, launchers, kernel, Gloo, fingerprints, the application
// itself.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/small_file.hpp"
#include "diag/evidence_text/read_text_of.hpp"
#include "test_paths.hpp"

namespace ringcomm::diag {
namespace {

TEST(StackTest, PySpy) {
  const auto evidence = evidence_of(
      "Process 501: python serve.py --rank 4\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
      "Thread 501 (active): \"MainThread\"\n    forward (model.py:318)\n    <module> (train.py:5)\n"
      "Thread 900 (idle): \"loader\"\n    get (queue.py:171)\n");
  ASSERT_EQ(evidence.stacks.size(), 2U);
  EXPECT_EQ(evidence.stacks[0].who.rank, 4);
  EXPECT_EQ(evidence.stacks[0].who.pid, 501);
  EXPECT_EQ(evidence.stacks[0].thread, "MainThread");
  EXPECT_FALSE(evidence.stacks[0].is_idle);
  EXPECT_EQ(evidence.stacks[0].frames,
            (std::vector<std::string>{"forward (model.py:318)", "<module> (train.py:5)"}));
  EXPECT_TRUE(evidence.stacks[1].is_idle);
  EXPECT_EQ(evidence.files[0].lines_skipped, 0U);
}

TEST(StackTest, TheRankComesFromAHeadingOrFromTheFile) {
  const char* const stack = "Thread 1 (active): \"MainThread\"\n    f (a.py:1)\n";
  EXPECT_EQ(evidence_of(stack, "dir/pyspy_rank7.txt").stacks.at(0).who.rank, 7);
  EXPECT_EQ(evidence_of(stack, "dir/stack_7.txt").stacks.at(0).who.rank, 7);
  const auto evidence = evidence_of(std::string("=== rank 1 ===\n") + stack + "=== rank 2 ===\n" + stack);
  ASSERT_EQ(evidence.stacks.size(), 2U);
  EXPECT_EQ(evidence.stacks[0].who.rank, 1);
  EXPECT_EQ(evidence.stacks[1].who.rank, 2);
}

TEST(StackTest, FaulthandlerAndGdb) {
  const auto python = evidence_of(
      "Thread 0x00007f31 (most recent call first):\n  File \"/a/b.py\", line 12 in wait\n"
      "Current thread 0x00007f32 (most recent call first):\n  File \"/a/c.py\", line 3 in forward\n");
  ASSERT_EQ(python.stacks.size(), 2U);
  EXPECT_EQ(python.stacks[1].frames.at(0), "forward (/a/c.py:3)");
  EXPECT_EQ(python.stacks[1].thread, "current");
  const auto native = evidence_of(
      "Thread 2 (Thread 0x7f (LWP 55) \"pt_main\"):\n#0  0x00007f31 in poll () from /lib/libc.so.6\n"
      "#1  run (x=3) at loop.c:77\n");
  ASSERT_EQ(native.stacks.size(), 1U);
  EXPECT_EQ(native.stacks[0].thread, "pt_main");
  EXPECT_EQ(native.stacks[0].frames, (std::vector<std::string>{"poll (/lib/libc.so.6)", "run (loop.c:77)"}));
}

TEST(TracebackTest, InterleavedRanksAreKeptApart) {
  const auto evidence = evidence_of(
      "[rank1]: Traceback (most recent call last):\n"
      "[rank2]: Traceback (most recent call last):\n"
      "[rank1]:   File \"t.py\", line 3, in <module>\n"
      "[rank2]:   File \"t.py\", line 9, in <module>\n"
      "[rank1]:     x = d['k']\n"
      "[rank2]: torch.distributed.DistBackendError: NCCL error in: x.cpp:1\n"
      "[rank1]: KeyError: 'k'\n");
  const auto raised = events_of(evidence, EventKind::exception);
  ASSERT_EQ(raised.size(), 2U);
  EXPECT_EQ(raised[0].who.rank, 2);
  EXPECT_EQ(raised[0].code, 1);  // only about communication
  EXPECT_EQ(raised[1].who.rank, 1);
  EXPECT_EQ(raised[1].code, 0);
  EXPECT_EQ(raised[1].detail, "KeyError");
  EXPECT_EQ(raised[1].text, "KeyError: 'k'");
  EXPECT_EQ(evidence.files[0].lines_skipped, 0U);
}

TEST(LauncherTest, TorchrunSummary) {
  const auto evidence = evidence_of(
      "train.py FAILED\n------------\nRoot Cause (first observed failure):\n[0]:\n"
      "  time      : 2026-04-15_21:17:08\n  host      : n4.example\n  rank      : 5 (local_rank: 1)\n"
      "  exitcode  : -11 (pid: 3188)\n  error_file: <N/A>\n  traceback : Signal 11 (SIGSEGV) received by PID "
      "3188\n"
      "============\n");
  const auto exits = events_of(evidence, EventKind::exit_code);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].code, -11);
  EXPECT_EQ(exits[0].who.rank, 5);
  EXPECT_EQ(exits[0].who.pid, 3188);
  EXPECT_EQ(exits[0].who.host, "n4.example");
  EXPECT_EQ(exits[0].detail, "root_cause");
  EXPECT_TRUE(exits[0].time_ns);
}

TEST(LauncherTest, SrunAndMpirun) {
  const auto srun = evidence_of("srun: error: n7: tasks 4-5: Killed\n");
  const auto exits = events_of(srun, EventKind::exit_code);
  ASSERT_EQ(exits.size(), 2U);
  EXPECT_EQ(exits[1].who.rank, 5);
  EXPECT_EQ(exits[1].who.host, "n7");
  EXPECT_EQ(exits[1].code, -9);
  const auto mpirun =
      evidence_of("mpirun noticed that process rank 3 with PID 77 on node n2 exited on signal 9 (Killed).\n");
  ASSERT_EQ(mpirun.events.size(), 1U);
  EXPECT_EQ(mpirun.events[0].who.rank, 3);
  EXPECT_EQ(mpirun.events[0].code, -9);
}

TEST(KernelTest, XidMemoryAndSegfault) {
  const auto evidence = evidence_of(
      "[Mon May 18 03:14:07 2026] NVRM: Xid (PCI:0000:dc:00): 79, GPU has fallen off the bus.\n"
      "May 18 03:14:08 n4 kernel: Out of memory: Killed process 3188 (python3) total-vm:1kB\n"
      "[  123.456789] python3[99]: segfault at 0 ip 000 sp 000 error 4 in x.so\n"
      "[  124.456789] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress error\n");
  const auto xid = events_of(evidence, EventKind::xid);
  ASSERT_EQ(xid.size(), 1U);
  EXPECT_EQ(xid[0].code, 79);
  EXPECT_EQ(xid[0].who.bus_id, "0000:dc:00.0");
  const auto oom = events_of(evidence, EventKind::oom_kill);
  ASSERT_EQ(oom.size(), 1U);
  EXPECT_EQ(oom[0].who.pid, 3188);
  EXPECT_EQ(oom[0].who.host, "n4");
  EXPECT_EQ(*oom[0].time_ns - *xid[0].time_ns, 1'000'000'000);  // one has no year
  ASSERT_EQ(events_of(evidence, EventKind::segfault).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::segfault)[0].who.pid, 99);
  ASSERT_EQ(events_of(evidence, EventKind::nvlink_error).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::nvlink_error)[0].code, 12028);
}

TEST(GlooTest, NeitherGroupNorPeerIsKnown) {
  const auto evidence = evidence_of(
      "[w1|6]:RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for "
      "recv operation "
      "to complete\n"
      "[w2|1]:RuntimeError: [/x/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
      "[2001:db8::22]:33062\n");
  ASSERT_EQ(evidence.ops.size(), 1U);
  EXPECT_EQ(evidence.ops[0].op, OpClass::recv);
  EXPECT_EQ(evidence.ops[0].timeout_ms, 1800000);
  EXPECT_EQ(evidence.ops[0].who.name, "w1|6");
  ASSERT_EQ(events_of(evidence, EventKind::peer_closed).size(), 1U);
  EXPECT_EQ(events_of(evidence, EventKind::peer_closed)[0].peer.address, "2001:db8::22");
  EXPECT_TRUE(events_of(evidence, EventKind::exception).empty());
}

TEST(FingerprintTest, TwoRanksAndTheirCalls) {
  const auto evidence = evidence_of(
      "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4, 8], TensorDtypes=BFloat16, "
      "TensorDeviceTypes=x), but Rank 0 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=7OpType=BARRIER)."
      "Collectives differ in the following aspects: Op type: ALLREDUCEvs BARRIER\n");
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].who.rank, 1);
  EXPECT_EQ(evidence.ops[0].elements_in, 32);
  EXPECT_EQ(evidence.ops[0].dtype, "bfloat16");
  EXPECT_EQ(evidence.ops[1].who.rank, 0);
  EXPECT_EQ(evidence.ops[1].op, OpClass::barrier);
  EXPECT_EQ(evidence.ops[1].seq, 7);
  ASSERT_EQ(events_of(evidence, EventKind::mismatch_reported).size(), 1U);
}

TEST(FingerprintTest, RanksOfAGroupStayRanksOfTheGroup) {
  const auto evidence = evidence_of(
      "[rank9]: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE), but Rank 0 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=8, OpType=ALLREDUCE).\n");
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].who.rank, 9);
  EXPECT_EQ(evidence.ops[0].who.group_rank, 1);
  EXPECT_EQ(evidence.ops[1].who.rank, kUnknown);
  EXPECT_EQ(evidence.ops[1].who.group_rank, 0);
}

TEST(FingerprintTest, AMonitoredBarrierNamesTheLate) {
  const auto evidence =
      evidence_of("RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 3000 ms\n");
  const auto late = events_of(evidence, EventKind::timeout);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[1].peer.rank, 3);
  EXPECT_EQ(late[1].who.rank, 0);
}

TEST(ProgressTest, TheLastLineOfEachWriterIsKept) {
  const auto evidence = evidence_of(
      "[rank0] step 7 done\n[rank0] step 8 done\n[rank1] step 7 done\n"
      "Mapping:  10%|#   | 1/10 [00:01<00:09]\rMapping:  20%|##  | 2/10 [00:02<00:08]\n"
      "12:00:01 Training completed\n");
  const auto moving = events_of(evidence, EventKind::progress);
  ASSERT_EQ(moving.size(), 3U);
  EXPECT_EQ(moving[0].code, 8);
  EXPECT_EQ(moving[0].who.rank, 0);
  EXPECT_EQ(moving[1].code, 7);
  EXPECT_EQ(moving[2].detail, "Mapping");
  EXPECT_EQ(moving[2].code, 2);
  EXPECT_EQ(moving[2].second, 10);
  ASSERT_EQ(events_of(evidence, EventKind::finished).size(), 1U);
}

TEST(TestProgramTest, PairsOfGpus) {
  const auto evidence = evidence_of(
      "# sendrecv_perf -b 8 -g 2\nGPU0+GPU1 (PXB): hangs\nGPU 0 <-> GPU 2: OK\nNCCL_P2P_DISABLE=1 GPU0-GPU1: "
      "ok\n");
  ASSERT_EQ(evidence.events.size(), 4U);
  EXPECT_EQ(evidence.events[0].detail, "command sendrecv_perf");
  EXPECT_EQ(evidence.events[1].detail, "hang PXB");
  EXPECT_EQ(evidence.events[1].peer.gpu, 1);
  EXPECT_EQ(evidence.events[2].detail, "ok");
  EXPECT_EQ(evidence.events[3].detail, "ok NCCL_P2P_DISABLE=1");
}

TEST(TopologyTextTest, AMatrixInAPasteIsRead) {
  const auto evidence = evidence_of(
      "I ran nvidia-smi topo -m and got\n\n"
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV4\t0-7\t0\n"
      "GPU1\tNV4\t X \t0-7\t0\n"
      "\nLegend:\n\n  NV#  = Connection traversing a bonded set of # NVLinks\n");
  ASSERT_EQ(evidence.topology.size(), 1U);
  EXPECT_EQ(evidence.topology[0].machine.gpus.size(), 2U);
  EXPECT_TRUE(has_format(evidence, "topo_matrix"));
}

TEST(ReadTextTest, WhatNobodyKnowsIsCounted) {
  const auto evidence = evidence_of("hello\nworld\n[rank0] step 3\n");
  EXPECT_EQ(evidence.files[0].lines_skipped, 2U);
  EXPECT_EQ(evidence.files[0].facts, 1U);
}

/// What the fuzzer starts from, whole and cut at every byte: nothing ends the program, and more text never
/// gives fewer operations.
TEST(ReadTextTest, TheCorpusCutAnywhereIsRead) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(RINGCOMM_SOURCE_DIR "/tests/fuzz/corpus/hang-text")) {
    const std::string text = read_small_file(entry.path(), 1 << 20);
    const HangEvidence whole = evidence_of(text);
    EXPECT_GT(whole.events.size() + whole.counters.size() + whole.ops.size(), 3U) << entry.path();
    for (std::size_t size = 1; size < text.size(); ++size)
      EXPECT_LE(evidence_of(text.substr(0, size)).ops.size(), whole.ops.size() + 1) << entry.path() << size;
    ++files;
  }
  EXPECT_EQ(files, 5);
}

TEST(ReadTextTest, FactsAreBounded) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "n1:5:7 [0] NCCL INFO transport/p2p.cc:164 -> 1\n";
  const auto evidence = read_hang_evidence(text, "log", {.facts_per_file = 20});
  EXPECT_EQ(evidence.events.size(), 20U);
  EXPECT_NE(evidence.files[0].note.find("more than 20 facts"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm::diag
