// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/events/frames.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "diag/explain/events/side.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kDeepest = 256;  // frames looked at

/// "all_gather_coalesced" and "(deepspeed/…/partition_parameters.py:1259)".
std::string_view function_of(std::string_view frame) {
  const std::size_t open = frame.find(" (");
  return open == std::string_view::npos ? frame : frame.substr(0, open);
}

std::string_view place_of(std::string_view frame) {
  const std::size_t open = frame.find(" (");
  return open == std::string_view::npos ? std::string_view() : frame.substr(open + 2);
}

template <std::size_t N>
bool has_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return has_text(text, word); });
}

struct OpWord {
  std::string_view word;
  std::string_view op;
};
// Longer names first: "reduce_scatter" holds no other one, but "all_reduce" and "reduce" would meet.
constexpr std::array<OpWord, 12> kOps{{{"all_gather", "all_gather"},
                                       {"allgather", "all_gather"},
                                       {"reduce_scatter", "reduce_scatter"},
                                       {"reducescatter", "reduce_scatter"},
                                       {"all_reduce", "all_reduce"},
                                       {"allreduce", "all_reduce"},
                                       {"all_to_all", "all_to_all"},
                                       {"alltoall", "all_to_all"},
                                       {"barrier", "barrier"},
                                       {"broadcast", "broadcast"},
                                       {"isend_irecv", "send/recv"},
                                       {"ring_exchange", "send/recv"}}};
constexpr std::array<std::string_view, 8> kPointToPoint{
    "send", "recv", "isend", "irecv", "ncclSend", "ncclRecv", "send_forward", "recv_forward"};
constexpr std::array<std::string_view, 9> kCommunicationFiles{
    "distributed", "nccl", "c10d", "deepspeed", "megatron", "comm", "ringcomm", "gloo", "horovod"};
constexpr std::array<std::string_view, 11> kLibraryThreads{
    "ncclProxy",       "ncclRas",         "ncclService", "ncclCommWatchdog", "heartbeatMonitor",
    "watchdogHandler", "ncclCommInitJob", "workCleanup", "persistentSocket", "TCPStoreMasterDaemon",
    "BackgroundThread"};
constexpr std::array<std::string_view, 5> kTeardown{"destroy_process_group", "ncclCommDestroy",
                                                    "ncclCommFinalize", "ncclCommAbort", "~ProcessGroup"};
constexpr std::array<std::string_view, 8> kSyncCalls{
    "StreamSynchronize", "DeviceSynchronize",   "EventSynchronize", "CtxSynchronize",
    "cudaMemcpy",        "_local_scalar_dense", "cuMemcpy",         "waitForCompletion"};
constexpr std::array<std::string_view, 8> kSyncMethods{"item",  "tolist", "nonzero",  "cpu",
                                                       "numpy", "unique", "__bool__", "synchronize"};

bool is_cpu_backend(std::string_view frame) {
  return has_text(frame, "gloo") || has_text(frame, "monitored_barrier") || has_text(frame, "TCPStore") ||
         has_text(frame, "store_based_barrier");
}

std::string op_of(std::string_view frame) {
  const std::string_view function = function_of(frame);
  for (const OpWord& entry : kOps) {
    if (!has_text(function, entry.word)) continue;
    // "barrier" and "broadcast" are words of other libraries too (threading, numpy).
    const bool is_common_word = entry.word == "barrier" || entry.word == "broadcast";
    if (is_common_word && !has_one_of(frame, kCommunicationFiles)) continue;
    if (is_common_word && has_text(place_of(frame), "numpy")) continue;
    return std::string(entry.op);
  }
  const bool is_p2p = std::find(kPointToPoint.begin(), kPointToPoint.end(), function) != kPointToPoint.end();
  if (is_p2p && has_one_of(frame, kCommunicationFiles)) return "send/recv";
  return {};
}

bool is_host_sync(std::string_view frame) {
  const std::string_view function = function_of(frame);
  if (has_one_of(function, kSyncCalls)) return true;
  const bool is_method = std::find(kSyncMethods.begin(), kSyncMethods.end(), function) != kSyncMethods.end();
  return is_method && has_text(place_of(frame), "torch");
}

bool is_graph_launch(std::string_view frame) {
  if (has_text(function_of(frame), "GraphLaunch")) return true;
  return has_text(function_of(frame), "replay") && has_text(place_of(frame), "cuda/graphs");
}

}  // namespace

bool is_library_thread(const StackFact& stack) {
  const std::size_t deepest = std::min(stack.frames.size(), kDeepest);
  if (has_one_of(stack.thread, kLibraryThreads)) return true;
  return std::any_of(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(deepest),
                     [](const std::string& frame) { return has_one_of(frame, kLibraryThreads); });
}

bool is_main_thread(const StackFact& stack) {
  return has_text(stack.thread, "main") || stack.thread == "current" || stack.thread == "thread 1" ||
         stack.thread == "1";
}

FrameFinding finding_of(const StackFact& stack) {
  FrameFinding finding;
  if (stack.frames.empty()) return finding;
  finding.frame = stack.frames.front();
  const std::size_t deepest = std::min(stack.frames.size(), kDeepest);
  const auto take = [&finding](StackRole role, const std::string& frame, std::string op = {}) {
    if (role <= finding.role) return;
    finding = {role, std::move(op), frame};
  };
  constexpr std::size_t kInner = 6;  // a synchronisation counts where the thread is, not where it came from
  for (std::size_t i = 0; i < deepest; ++i) {
    const std::string& frame = stack.frames[i];
    if (std::string op = op_of(frame); !op.empty()) {
      take(is_cpu_backend(frame) ? StackRole::cpu_collective : StackRole::collective, frame, std::move(op));
    } else if (is_graph_launch(frame)) {
      take(StackRole::graph_launch, frame);
    } else if (has_one_of(frame, kTeardown)) {
      take(StackRole::teardown, frame);
    } else if (i < kInner && is_host_sync(frame)) {
      take(StackRole::host_sync, frame);
    }
  }
  return finding;
}

std::string group_of_frames(const std::vector<std::string>& frames) {
  constexpr std::array<OpWord, 10> kGroups{{{"zero/stage3", "ZeRO-3 data-parallel group"},
                                            {"zero/partition", "ZeRO-3 data-parallel group"},
                                            {"zero/stage", "ZeRO data-parallel group"},
                                            {"fsdp", "FSDP data-parallel group"},
                                            {"p2p_communication", "pipeline-parallel group"},
                                            {"pipeline_parallel", "pipeline-parallel group"},
                                            {"tensor_parallel", "tensor-parallel group"},
                                            {"context_parallel", "context-parallel group"},
                                            {"ring_attention", "context-parallel group"},
                                            {"/moe/", "expert-parallel group"}}};
  const std::size_t deepest = std::min(frames.size(), kDeepest);
  for (const OpWord& entry : kGroups) {
    for (std::size_t i = 0; i < deepest; ++i) {
      if (has_text(frames[i], entry.word)) return std::string(entry.op);
    }
  }
  return {};
}

}  // namespace ringcomm::inline v0::diag
