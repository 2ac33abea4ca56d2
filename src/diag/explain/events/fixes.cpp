// SPDX-License-Identifier: Apache-2.0
// What to do about each kind of fault, where a rule has nothing more exact to say.
#include <array>
#include <cstddef>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {
namespace {

// In the order of FaultKind. Each text begins with the step that helps most; all differ.
constexpr std::array<std::string_view, 31> kFixes{{
    // none
    "Nothing to repair: take a second snapshot some seconds later if the job still seems to hang.",
    // rank_not_entered
    "Look at what the named rank does instead of the call: py-spy dump --native --pid PID, twice some "
    "seconds "
    "apart. Do slow work (preprocessing, checkpoint, compilation) once beforehand or outside the collective, "
    "give that section a longer timeout, and take branches collectively (all_reduce the flag).",
    // rank_behind
    "Give all ranks the same number of steps: drop_last=True, padding, or an all-reduced stop flag; compare "
    "the call counts of the named rank with a peer's at the last checkpoint.",
    // order_inversion
    "Issue the operations of both groups in one global order on all ranks, and remove host synchronisations "
    "(item, tolist, synchronize, compile warm-up) between them.",
    // op_mismatch
    "Make all ranks take the same path at this call: compare the call sites of the named rank and a peer; at "
    "the end of an epoch use drop_last=True, padding, or an all-reduced stop flag.",
    // size_mismatch
    "Give the call the same number of elements on all ranks: pad, or exchange the sizes first; run experts "
    "and optional branches on all ranks (find_unused_parameters hides such a difference, it does not cure "
    "it).",
    // dtype_mismatch
    "Use one data type for this call on all ranks: look at autocast and casts on the named rank; keep "
    "softmax "
    "statistics in float32 everywhere.",
    // ring_step_mismatch
    "Compute the number of ring steps from the group's size alone, on all ranks; rotate keys and values also "
    "for blocks that the mask skips.",
    // p2p_cycle
    "Put the sends and receives into one batch (batch_isend_irecv, ncclGroupStart/ncclGroupEnd), or let even "
    "ranks send first and odd ranks receive first.",
    // p2p_unmatched
    "Correct the peer formula so that each send has its receive: check group ranks against global ranks, and "
    "the first and last member of the ring.",
    // slot_reuse
    "Wait for the release of the slot before it is written again: keep the step's event until its last "
    "reader has ended (record_stream, stream wait), or use one more slot.",
    // plan_mismatch
    "Start all ranks with one plan: same world size, ring order, group members and RINGCOMM_* variables; "
    "create groups on all ranks in the same order.",
    // concurrent_communicators
    "Order the two communicators on each GPU with stream events (or NCCL_LAUNCH_ORDER_IMPLICIT=1, or "
    "CUDA_DEVICE_MAX_CONNECTIONS=1), so that both start in the same order on all ranks.",
    // rank_died
    "Find out what ended the process: dmesg -T | grep -iE 'killed process|segfault' on its host, the "
    "cgroup's "
    "memory limit, a core file (ulimit -c unlimited). Errors of the other ranks are consequences.",
    // rank_exception
    "Correct the exception of the named rank; let a failing rank end at once (torchrun with "
    "@record, no swallowed exceptions), so that its peers do not wait for the timeout.",
    // rank_unresponsive
    "See the state of the process on its host: grep State /proc/PID/status (T: stopped, kill -CONT; D: I/O), "
    "dmesg -T for memory and storage, then py-spy dump --native --pid PID.",
    // host_paused
    "Look for a suspension of the job (scontrol show job, a frozen cgroup, a paused VM or container) or a "
    "jump of the clock (chronyc tracking) at that time; then restart from the checkpoint.",
    // gpu_fault
    "Drain the node of the named GPU: dmesg -T | grep -i xid, nvidia-smi -q -d ECC, dcgmi diag -r 3; reset "
    "the GPU, replace it if the error comes back.",
    // nvlink_fault
    "Drain the node: read the fabric manager's log and dmesg -T | grep -i xid, nvidia-smi nvlink -e and -s; "
    "reset GPU and NVSwitch, run dcgmi diag -r 3, replace the part if links stay down.",
    // p2p_path_broken
    "Switch ACS off on the PCIe bridges (setpci -s BRIDGE ECAP_ACS+6.w=0000) and set iommu=pt, check with "
    "p2pBandwidthLatencyTest; NCCL_P2P_DISABLE=1 is a probe and a work-around that costs bandwidth.",
    // network_fault
    "First see whether the peer's process ended earlier. Then test the path: ibstat, rdma link, port "
    "counters, PFC and ECN (RoCE), NCCL_IB_GID_INDEX, ib_write_bw between the two ports. A longer "
    "NCCL_IB_TIMEOUT helps only against short flaps.",
    // net_config
    "Set NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME) to the interface that the hosts share, open all TCP "
    "ports between the hosts, and probe NCCL_NET_GDR_LEVEL=LOC where registration fails.",
    // topology_mismatch
    "Give all ranks the same network devices: the same NCCL_IB_HCA, the same /dev/infiniband in all "
    "containers, the same NIC count on all hosts.",
    // topology_suboptimal
    "Let each GPU use its nearest NIC (NCCL_IB_HCA without management NICs) and order the ring along the "
    "fast links: ringcomm-doctor topo prints the order.",
    // rank_gpu_binding
    "Give each rank its own GPU before the first CUDA or NCCL call: torch.cuda.set_device(local_rank), or "
    "CUDA_VISIBLE_DEVICES per process.",
    // resource_limit
    "Raise the limit that the first error names: docker --shm-size=8g or --ipc=host, ulimit -l unlimited "
    "(docker --ulimit memlock=-1), ulimit -n 65536, or free GPU memory before communicators are made.",
    // version_mismatch
    "Load the same NCCL on all ranks: one container image or wheel; look for an older libnccl.so.2 in "
    "LD_LIBRARY_PATH and LD_PRELOAD of the odd host.",
    // graph_capture
    "Take host synchronisations (item, unique, nonzero) out of the step that is replayed, replay the same "
    "graph on all ranks, and create communicators before capture; run once with graphs off as a test.",
    // teardown_hang
    "Call dist.destroy_process_group() on all ranks after a barrier, before the interpreter ends; the work "
    "itself was finished.",
    // all_entered_no_progress
    "Do not look for a rank that skipped the call. Look at the devices and the fabric: Xid on all hosts "
    "(dmesg -T | grep -i xid), power and utilisation per GPU, link counters; run all_reduce_perf on the same "
    "GPUs, with NCCL_P2P_DISABLE=1 as a probe.",
    // insufficient_evidence
    "Collect more before changing anything: a flight-recorder dump, a stack of every rank, and the logs of "
    "the ranks named as without evidence.",
}};
static_assert(kFixes.size() == static_cast<std::size_t>(FaultKind::insufficient_evidence) + 1);

constexpr std::string_view kRecorder =
    "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 (set before the next run; a dump per "
    "rank)";
constexpr std::string_view kStacks = "py-spy dump --native --pid PID   # on every rank, twice, 10 s apart";
constexpr std::string_view kXid = "dmesg -T | grep -iE 'xid|nvlink'   # on every host";
constexpr std::string_view kRas = "ncclras -v; sleep 10; ncclras -v   # counts that stay equal show a hang";
constexpr std::string_view kDebug = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,NET   # log of every rank";
constexpr std::string_view kGpu =
    "nvidia-smi --query-gpu=index,utilization.gpu,power.draw,power.limit --format=csv   # on every host";
constexpr std::string_view kFate = "dmesg -T | grep -iE 'killed process|segfault|oom'   # on its host";
constexpr std::string_view kState = "grep State /proc/PID/status   # T: stopped, D: waits for I/O";
constexpr std::string_view kLinks = "nvidia-smi nvlink -s; nvidia-smi nvlink -e; nvidia-smi topo -m";
constexpr std::string_view kPorts = "ibstat; rdma link; perfquery -x   # on both ends of the path";
constexpr std::string_view kMatch = "TORCH_DISTRIBUTED_DEBUG=DETAIL   # names the first call that differs";

std::vector<std::string> texts(std::initializer_list<std::string_view> lines) {
  return std::vector<std::string>(lines.begin(), lines.end());
}

}  // namespace

std::string fix_of(FaultKind kind) { return std::string(kFixes[static_cast<std::size_t>(kind)]); }

std::vector<std::string> collect_for(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return texts({kRas});
    case FaultKind::rank_not_entered:
      return texts({kStacks, kState, kGpu});
    case FaultKind::rank_behind:
    case FaultKind::op_mismatch:
    case FaultKind::size_mismatch:
    case FaultKind::dtype_mismatch:
      return texts({kMatch, kRecorder, "TORCH_NCCL_TRACE_CPP_STACK=1   # call sites in the dumps"});
    case FaultKind::order_inversion:
    case FaultKind::ring_step_mismatch:
    case FaultKind::p2p_cycle:
    case FaultKind::p2p_unmatched:
      return texts({kStacks, kRecorder});
    case FaultKind::slot_reuse:
    case FaultKind::plan_mismatch:
      return texts(
          {"ringcomm-plan check   # of the plan on each rank", "ringcomm-doctor attach   # while it runs"});
    case FaultKind::concurrent_communicators:
      return texts({"TORCH_NCCL_ENABLE_TIMING=1   # start times in the dumps", kRecorder});
    case FaultKind::rank_died:
      return texts({kFate, "journalctl -k --since '1 hour ago'", "cat /sys/fs/cgroup/memory.events"});
    case FaultKind::rank_exception:
      return texts({"the whole log of the named rank, from before its traceback", kStacks});
    case FaultKind::rank_unresponsive:
    case FaultKind::host_paused:
      return texts({kState, kFate, kRas});
    case FaultKind::gpu_fault:
      return texts({kXid, "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER", "dcgmi diag -r 3"});
    case FaultKind::nvlink_fault:
      return texts({kLinks, kXid, "dcgmi diag -r 3"});
    case FaultKind::p2p_path_broken:
      return texts({"lspci -vvv | grep -E 'ACSCtl|PCI bridge'   # as root", "p2pBandwidthLatencyTest",
                    "NCCL_P2P_DISABLE=1   # as a probe: if it runs, the path is at fault"});
    case FaultKind::network_fault:
      return texts({kPorts, kFate, kDebug});
    case FaultKind::net_config:
      return texts(
          {"ip -br address; ip route   # on every host", "nc -zv HOST PORT   # between the hosts", kDebug});
    case FaultKind::topology_mismatch:
    case FaultKind::topology_suboptimal:
      return texts({kLinks, "ibdev2netdev; ls /sys/class/infiniband   # on every host", kDebug});
    case FaultKind::rank_gpu_binding:
      return texts({"env | grep -E 'LOCAL_RANK|CUDA_VISIBLE_DEVICES'   # on every rank", kDebug});
    case FaultKind::resource_limit:
      return texts({"df -h /dev/shm; ulimit -a; nvidia-smi   # inside the container", kDebug});
    case FaultKind::version_mismatch:
      return texts({"python -c 'import torch; print(torch.cuda.nccl.version())'   # on every host",
                    "ldconfig -p | grep nccl; env | grep LD_"});
    case FaultKind::graph_capture:
      return texts({kStacks, "the graph and step number that each rank replays"});
    case FaultKind::teardown_hang:
      return texts({kStacks});
    case FaultKind::all_entered_no_progress:
      return texts({kGpu, kXid, kRecorder,
                    "TORCH_NCCL_ENABLE_TIMING=1   # started or only scheduled, per rank", kRas, kPorts});
    case FaultKind::insufficient_evidence:
      return texts({kRecorder, kStacks, kRas, kXid});
  }
  return {};
}

}  // namespace ringcomm::inline v0::diag
