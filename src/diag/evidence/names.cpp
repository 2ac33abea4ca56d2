// SPDX-License-Identifier: Apache-2.0
// The words for operations and events, and operations by the names that many sources give them.
#include <array>
#include <cstddef>
#include <utility>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 19> kOps{"unknown",
                                                "all_reduce",
                                                "all_gather",
                                                "reduce_scatter",
                                                "broadcast",
                                                "reduce",
                                                "gather",
                                                "scatter",
                                                "all_to_all",
                                                "barrier",
                                                "send",
                                                "recv",
                                                "coalesced",
                                                "softmax_all_reduce",
                                                "softmax_reduce_scatter",
                                                "ring_rotate",
                                                "ring_attention",
                                                "split",
                                                "init"};
constexpr std::array<std::string_view, 43> kEvents{"exception",
                                                   "exit_code",
                                                   "oom_kill",
                                                   "segfault",
                                                   "stopped",
                                                   "unresponsive",
                                                   "considered_dead",
                                                   "missing_process",
                                                   "progress",
                                                   "finished",
                                                   "timeout",
                                                   "heartbeat_stuck",
                                                   "async_error",
                                                   "peer_closed",
                                                   "aborted",
                                                   "init_start",
                                                   "init_complete",
                                                   "mismatch_reported",
                                                   "truncated_message",
                                                   "duplicate_gpu",
                                                   "version_mismatch",
                                                   "mixed_net_devices",
                                                   "no_interface",
                                                   "no_route",
                                                   "connect_failed",
                                                   "ib_completion",
                                                   "ib_async",
                                                   "port_error",
                                                   "registration_failed",
                                                   "shm_failed",
                                                   "memlock_failed",
                                                   "cuda_error",
                                                   "cuda_oom",
                                                   "system_error",
                                                   "return_code",
                                                   "version",
                                                   "transport_used",
                                                   "env_set",
                                                   "xid",
                                                   "nvlink_error",
                                                   "ecc_error",
                                                   "test_result",
                                                   "other"};
static_assert(kOps.size() == static_cast<std::size_t>(OpClass::init) + 1);
static_assert(kEvents.size() == static_cast<std::size_t>(EventKind::other) + 1);

constexpr std::size_t kNameBytesMax = 80;

/// "nccl:_all_gather_base(x)" -> "allgatherbase": lower-case letters and digits of the name itself.
std::string squeezed(std::string_view name) {
  name = name.substr(0, name.find_first_of(" (<["));
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  std::string out;
  for (const char c : name.substr(0, kNameBytesMax)) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool cut_end(std::string& name, std::string_view end) {
  if (name.size() <= end.size() || !name.ends_with(end)) return false;
  name.erase(name.size() - end.size());
  return true;
}

using Known = std::pair<std::string_view, OpClass>;
constexpr std::array kKnown{
    Known{"allreduce", OpClass::all_reduce},
    Known{"allgather", OpClass::all_gather},
    Known{"reducescatter", OpClass::reduce_scatter},
    Known{"broadcast", OpClass::broadcast},
    Known{"bcast", OpClass::broadcast},
    Known{"reduce", OpClass::reduce},
    Known{"gather", OpClass::gather},
    Known{"scatter", OpClass::scatter},
    Known{"alltoall", OpClass::all_to_all},
    Known{"barrier", OpClass::barrier},
    Known{"monitoredbarrier", OpClass::barrier},
    Known{"send", OpClass::send},
    Known{"isend", OpClass::send},
    Known{"recv", OpClass::recv},
    Known{"irecv", OpClass::recv},
    Known{"receive", OpClass::recv},
    Known{"recvanysource", OpClass::recv},
    Known{"coalesced", OpClass::coalesced},
    Known{"sendrecv", OpClass::coalesced},
    Known{"batchisendirecv", OpClass::coalesced},
    Known{"softmaxallreduce", OpClass::softmax_all_reduce},
    Known{"softmaxreducescatter", OpClass::softmax_reduce_scatter},
    Known{"ringrotate", OpClass::ring_rotate},
    Known{"ringattention", OpClass::ring_attention},
    Known{"split", OpClass::split},
    Known{"commsplit", OpClass::split},
    Known{"init", OpClass::init},
    Known{"commgetuniqueid", OpClass::init},
    Known{"comminitrank", OpClass::init},
    Known{"comminitrankconfig", OpClass::init},
    Known{"comminitall", OpClass::init},
};

OpClass known(std::string_view name) {
  for (const auto& [word, op] : kKnown) {
    if (name == word) return op;
  }
  return OpClass::unknown;
}

}  // namespace

std::string_view name_of(OpClass op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kOps.size() ? kOps[index] : kOps[0];
}

std::string_view name_of(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEvents.size() ? kEvents[index] : kEvents.back();
}

OpClass op_class_of(std::string_view printed) {
  std::string name = squeezed(printed);
  for (const std::string_view library : {"nccl", "rccl"}) {
    if (name.starts_with(library)) name.erase(0, library.size());
  }
  OpClass op = known(name);
  // "_ALLGATHER_BASE", "allreduce_coalesced", "all_gather_into_tensor", "reduce_scatter_tensor", "AllToAllv".
  for (bool is_cut = true; op == OpClass::unknown && is_cut; op = known(name)) {
    is_cut = false;
    for (const std::string_view end :
         {"base", "coalesced", "sparse", "single", "tensor", "into", "oop", "v", "async"})
      is_cut = cut_end(name, end) || is_cut;
  }
  return op;
}

}  // namespace ringcomm::inline v0::diag
