// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/verdict.hpp"

#include <array>
#include <cstddef>

namespace ringcomm::inline v0::diag {
namespace {

struct KindRow {
  std::string_view label;
  std::string_view sentence;
  int exit_code;
};

// In the order of FaultKind.
constexpr std::array<KindRow, 31> kKinds{{
    {"none", "the job runs, or nothing is wrong", 0},
    {"rank_not_entered", "a rank did not make the call that its group waits for", 1},
    {"rank_behind", "a rank has made fewer calls than its group", 1},
    {"order_inversion", "ranks call two operations or groups in different order and wait for one another", 1},
    {"op_mismatch", "ranks are in different operations at the same place", 1},
    {"size_mismatch", "ranks are in the same operation with different sizes", 1},
    {"dtype_mismatch", "ranks are in the same operation with different data types", 1},
    {"ring_step_mismatch", "the ring loop runs a different number of steps on a rank", 1},
    {"p2p_cycle", "sends and receives that are not grouped wait for one another", 1},
    {"p2p_unmatched", "a send has no receive, or a receive no send", 1},
    {"slot_reuse", "a buffer was written again before its last reader had released it", 1},
    {"plan_mismatch", "ranks follow different plans, sizes of the world or ring orders", 1},
    {"concurrent_communicators", "two communicators run at once on one GPU and start in different order", 1},
    {"rank_died", "a process is gone", 2},
    {"rank_exception", "a rank raised an exception and left the step", 1},
    {"rank_unresponsive", "a process exists but does not answer", 2},
    {"host_paused", "the processes stood still (suspended, or the clock jumped)", 2},
    {"gpu_fault", "a GPU stopped completing work", 2},
    {"nvlink_fault", "an NVLink or NVSwitch failed", 2},
    {"p2p_path_broken", "direct access between two GPUs is accepted but does not work", 2},
    {"network_fault", "a network path fails", 2},
    {"net_config", "interface, route, firewall or GPU-direct set-up is wrong", 2},
    {"topology_mismatch", "ranks see different network devices or paths", 2},
    {"topology_suboptimal", "it works, but the wiring or the way it is used costs bandwidth", 2},
    {"rank_gpu_binding", "several ranks use one GPU", 2},
    {"resource_limit", "a limit is too small (shared memory, locked memory, files, GPU memory)", 2},
    {"version_mismatch", "ranks run different versions of the communication library", 2},
    {"graph_capture", "a captured collective waits behind a host synchronisation or an unequal replay", 1},
    {"teardown_hang", "the work was done; closing the groups hangs", 1},
    {"all_entered_no_progress", "all ranks are in the same call and nothing moves: device or transport", 3},
    {"insufficient_evidence", "the evidence does not tell", 3},
}};
static_assert(kKinds.size() == static_cast<std::size_t>(FaultKind::insufficient_evidence) + 1);

constexpr std::array<std::string_view, 4> kGrades{"cannot-tell", "possible", "likely", "certain"};

const KindRow& row_of(FaultKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name_of(FaultKind kind) { return row_of(kind).label; }
std::string_view sentence_of(FaultKind kind) { return row_of(kind).sentence; }
std::string_view name_of(Grade grade) { return kGrades[static_cast<std::size_t>(grade)]; }
int exit_code_of(FaultKind kind) { return row_of(kind).exit_code; }

}  // namespace ringcomm::inline v0::diag
