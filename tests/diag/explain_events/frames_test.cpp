// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/events/frames.hpp"

#include <gtest/gtest.h>

namespace ringcomm::diag {
namespace {

FrameFinding of(std::vector<std::string> frames) {
  StackFact stack;
  stack.frames = std::move(frames);
  return finding_of(stack);
}

TEST(FramesTest, CollectivesAreKnownByTheirFunctions) {
  EXPECT_EQ(of({"all_gather_coalesced (deepspeed/runtime/zero/partition_parameters.py:1259)"}).op,
            "all_gather");
  EXPECT_EQ(of({"_all_to_all_single (torch/distributed/nn/functional.py:1)"}).op, "all_to_all");
  EXPECT_EQ(of({"wait (x.py:1)", "all_reduce (torch/distributed/distributed_c10d.py:2501)"}).op,
            "all_reduce");
  EXPECT_EQ(of({"recv (torch/distributed/distributed_c10d.py:1900)"}).op, "send/recv");
  EXPECT_EQ(of({"ncclAllReduce (libnccl.so.2)"}).role, StackRole::collective);
  EXPECT_EQ(of({"monitored_barrier (torch/distributed/distributed_c10d.py:4)"}).role,
            StackRole::cpu_collective);
}

TEST(FramesTest, WordsOfOtherLibrariesAreNoCollectives) {
  EXPECT_EQ(of({"broadcast_to (numpy/lib/stride_tricks.py:4)"}).role, StackRole::elsewhere);
  EXPECT_EQ(of({"recv (socket.py:4)"}).role, StackRole::elsewhere);
  EXPECT_EQ(of({"gather (modeling.py:4)"}).role, StackRole::elsewhere);
  EXPECT_EQ(of({"numpy (modeling.py:4)"}).role, StackRole::elsewhere);
}

TEST(FramesTest, SynchronisationGraphAndTeardownAreToldApart) {
  EXPECT_EQ(of({"cudaStreamSynchronize (libcudart.so.13)", "item (torch/_tensor.py)"}).role,
            StackRole::host_sync);
  EXPECT_EQ(of({"tolist (torch/_tensor.py:1023)"}).role, StackRole::host_sync);
  EXPECT_EQ(of({"cudaGraphLaunch (libcudart.so.13)"}).role, StackRole::graph_launch);
  EXPECT_EQ(of({"replay (torch/cuda/graphs.py:88)"}).role, StackRole::graph_launch);
  EXPECT_EQ(of({"destroy_process_group (torch/distributed/distributed_c10d.py:1)"}).role,
            StackRole::teardown);
  EXPECT_EQ(of({"cudaStreamSynchronize (libcudart.so)", "all_reduce (torch/distributed/x.py:1)"}).role,
            StackRole::collective);
}

TEST(FramesTest, ThreadsOfTheLibrarySayNothing) {
  StackFact stack;
  stack.frames = {"poll (libc.so.6)", "ncclProxyProgress (libnccl.so.2)"};
  EXPECT_TRUE(is_library_thread(stack));
  stack.frames = {"all_reduce (torch/distributed/distributed_c10d.py:2501)"};
  EXPECT_FALSE(is_library_thread(stack));
}

TEST(FramesTest, FilesNameTheGroup) {
  EXPECT_EQ(group_of_frames({"backward (deepspeed/runtime/zero/stage3.py:2213)"}),
            "ZeRO-3 data-parallel group");
  EXPECT_EQ(group_of_frames({"forward (train.py:3)"}), "");
}

}  // namespace
}  // namespace ringcomm::diag
