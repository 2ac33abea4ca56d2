# SPDX-License-Identifier: Apache-2.0
"""The house rules that the lint tests check, as data. An exception is a line here, with its reason."""

# Level of each room; a file may include its own room and rooms of a lower level (docs/architecture.md).
LEVELS = {
    "core": 0,
    "plan": 1, "topology": 1, "device": 1, "bootstrap": 1,
    "transport": 2, "diag": 2,
    "comm": 3,
    "collectives": 4,
    "attention": 5,
}
# Rooms that a room of a higher level may not see all the same.
FORBIDDEN = {
    "transport": {"topology", "plan"},  # which path is best and what happens when is not its business
    "diag": {"transport", "device", "bootstrap"},
    "collectives": {"topology", "bootstrap"},
    "attention": {"topology", "bootstrap", "transport"},
}
# (file, included header): reason
LAYER_EXCEPTIONS = {}

# Vendor header -> files that may include it (prefix match on the path from the repository's root).
VENDOR_HEADERS = {
    "hwloc": ["src/topology/readers/hwloc"],
    "ucp/": ["src/transport/ucx/"], "uct/": ["src/transport/ucx/"], "ucs/": ["src/transport/ucx/"],
    "mpi.h": ["src/transport/mpi/", "src/bootstrap/mpi", "include/ringcomm/interop/mpi.hpp", "perf/peers/", "tests/transport/mpi/"],
    "nccl.h": ["src/transport/nccl/", "include/ringcomm/interop/nccl.hpp"],
    "cuda": ["src/device/cuda/", "src/transport/cuda_ipc/", "src/attention/cuda/", "include/ringcomm/interop/cuda.hpp",
             "tests/device/cuda/"],
    "nvml.h": ["src/topology/readers/nvml"],
    "infiniband/": ["src/topology/readers/verbs"],
    "pugixml": ["src/topology/readers/"],
    "nlohmann/": ["src/topology/readers/cost_json", "tools/", "perf/", "tests/"],
}

FILE_LINES_MAX = 500
FILE_LINES_LOOK_AGAIN = 300
FUNCTION_LINES_MAX = 70
# Files that may be longer: reason.
SIZE_EXCEPTIONS = {}
# "path: first line of the function" that may be longer than FUNCTION_LINES_MAX: reason.
FUNCTION_EXCEPTIONS = {}

# Source files without a test file of the same name: which tests cover them (lint.mirror).
MIRROR_EXCEPTIONS = {
    "src/diag/host/facts_text.cpp": "host_checks_test",
    "src/diag/host/host_facts.cpp": "probes_test",
    "src/diag/host/probe_child.cpp": "probes_test",
    "src/diag/host/rank_checks.cpp": "host_checks_test",
    "src/topology/readers/smi_affinity.cpp": "nvidia_smi_topo_test",
    "src/topology/readers/smi_nvlink.cpp": "nvidia_smi_nvlink_test, nvidia_smi_nvlink_remote_test",
    "src/topology/readers/smi_table.cpp": "nvidia_smi_topo_test, nvidia_smi_p2p_test",
    "src/topology/evidence.cpp": "the readers' tests",
    "src/topology/machine.cpp": "topology_checks_test",
    # parts of paths are judged as whole paths
    "src/topology/cost_model.cpp": "path_test",
    "src/topology/detour.cpp": "path_test",
    "src/topology/device_place.cpp": "path_test",
    "src/topology/matching.cpp": "machine_rings_test",
    "src/topology/nic_choice.cpp": "machine_rings_test",
    "src/topology/nvlink_map.cpp": "path_test",
    "src/topology/path_builder.cpp": "path_test",
    "src/topology/pci_path.cpp": "path_test",
    "src/topology/rank_placement.cpp": "machine_rings_test",
    "src/topology/readers/cost_json.cpp": "cost_model_test",
    "src/topology/ring_graph.cpp": "machine_rings_test",
    "src/topology/route_sum.cpp": "path_test",
    "src/topology/rings/cluster_check.cpp": "plan_cluster_rings_test",
    "src/topology/rings/double_ring.cpp": "plan_cluster_rings_test",
    "src/topology/rings/held_karp.cpp": "plan_ring_test",
    "src/topology/rings/host_paths.cpp": "plan_cluster_rings_test",
    "src/topology/rings/level_table.cpp": "plan_ring_test, rings_within_test",
    "src/topology/rings/local_search.cpp": "plan_ring_test",
    "src/topology/rings/lower_bound.cpp": "plan_ring_test",
    "src/topology/rings/nested_order.cpp": "plan_ring_test",
    "src/topology/rings/rail_routes.cpp": "plan_cluster_rings_test",
    "src/topology/rings/ring_search.cpp": "plan_ring_test",
    "src/topology/rings/ring_flow.cpp": "judge_ring_test",
    "src/topology/rings/ring_packing.cpp": "plan_disjoint_rings_test",
    "src/topology/rings/two_way.cpp": "plan_disjoint_rings_test",
    "src/topology/merge/counts.cpp": "merge_paths_test",
    "src/topology/merge/gpus.cpp": "merge_test",
    "src/topology/merge/hosts.cpp": "merge_paths_test",
    "src/topology/merge/nics.cpp": "merge_test",
    "src/topology/merge/places.cpp": "merge_test",
    "src/topology/merge/sort.cpp": "merge_paths_test",
    "src/topology/readers/nccl_log.cpp": "message_test, rings_test, events_test",
    "src/topology/readers/nccl_log/collector.cpp": "events_test",
    "src/topology/readers/nccl_log/info.cpp": "events_test",
    "src/topology/readers/nccl_log/graph_builder.cpp": "job_machine_test",
    "src/topology/readers/nccl_log/graph_dump.cpp": "job_machine_test",
    "src/topology/readers/nccl_log/ranks.cpp": "events_test",
    "src/topology/readers/nccl_log/transports.cpp": "events_test, rings_test",
    "src/topology/readers/nccl_log/warnings.cpp": "events_test",
    "src/topology/readers/nccl_topo_builder.cpp": "nccl_topo_xml_test, nccl_topo_machines_test",
    "src/topology/readers/nccl_topo_links.cpp": "nccl_topo_xml_test, nccl_topo_machines_test",
    "src/topology/readers/nccl_topo_nets.cpp": "nccl_topo_xml_test, nccl_topo_machines_test",
    "src/collectives/softmax_call.cpp": "softmax_all_reduce_test, softmax_reduce_scatter_test",
    "src/collectives/softmax_run.cpp": "softmax_all_reduce_test, softmax_reduce_scatter_test",
    "src/plan/rules/softmax_doubling.cpp": "softmax_rule_test",
    # the meeting of ranks is tested through the whole store, its packets through the group that sends them
    "src/bootstrap/meeting.cpp": "file_store_test",
    "src/bootstrap/packet.cpp": "socket_group_test",
    # meetings over TCP are tested through whole groups, and among strangers
    "src/bootstrap/foreign_env.cpp": "launch_environment_test",
    "src/bootstrap/hub.cpp": "tcp_meeting_test, doorman_test",
    "src/bootstrap/hub_threads.cpp": "tcp_meeting_test, unique_id_test",
    "src/bootstrap/launch_sources.cpp": "launch_environment_test",
    "src/bootstrap/reach.cpp": "tcp_meeting_test",
    "src/bootstrap/tcp_group.cpp": "tcp_meeting_test, frame_test",
    "src/transport/common/channel_key.cpp": "control_segment_test",
    "src/transport/common/control_layout.cpp": "lane_test",
    "src/transport/common/endpoint.cpp": "inproc_transport_test",
    "src/transport/common/futex.cpp": "wait_test",
    "src/transport/common/lane_channel.cpp": "inproc_conformance_test",
    "src/transport/common/lane_channel_group.cpp": "inproc_conformance_test",
    "src/transport/common/lane_channel_wait.cpp": "inproc_conformance_test",
    "src/transport/common/lane_transport.cpp": "inproc_transport_test",
    "src/transport/common/live_counters.cpp": "the claim CountersCount",
    "src/transport/common/wait_report.cpp": "the claims MissingRankIsNamed and StalledRankIsNamedByAll",
    "src/transport/common/segment_table.cpp": "inproc_transport_test",
    "src/transport/common/transport_channel.cpp": "inproc_conformance_test",
    "src/transport/inproc/memory.cpp": "inproc_transport_test",
    "src/transport/message/channel.cpp": "message_conformance_test",
    "src/transport/message/channel_wait.cpp": "message_conformance_test",
    "src/transport/message/core.cpp": "message_transport_test",
    "src/transport/message/open.cpp": "message_conformance_test",
    "src/transport/message/parcels.cpp": "message_transport_test",
    "src/transport/message/transport.cpp": "message_transport_test",
    "src/transport/message/turn.cpp": "message_conformance_test",
    # tests/transport/mpi/mpi_program.cpp, which mpi_test starts under mpirun
    "src/transport/mpi/bootstrap.cpp": "mpi_program",
    "src/transport/mpi/check.cpp": "mpi_program",
    "src/transport/mpi/mailbox.cpp": "mpi_program",
    "src/transport/mpi/plugin.cpp": "mpi_program",
    "src/transport/mpi/port.cpp": "mpi_program",
    "src/transport/mpi/requests.cpp": "mpi_program",
    "src/transport/shm/memory.cpp": "shm_transport_test",
    "src/transport/ucx/check.cpp": "port_faults_test",
    "src/transport/ucx/connect.cpp": "port_test",
    "src/transport/ucx/peer_watch.cpp": "port_faults_test",
    "src/transport/ucx/transfers.cpp": "port_test",
    "src/transport/ucx/worker.cpp": "port_test, port_faults_test",
    # the GPU's parts are judged as a device, where there is one
    "src/device/cuda/check.cpp": "device_gpu_test",
    "src/device/cuda/event.cpp": "device_gpu_test",
    "src/device/cuda/memory.cpp": "device_gpu_test",
    "src/device/cuda/stream.cpp": "device_gpu_test",
    # tests/attention/block_kernel_*_test.cpp run every implementation of one interface
    "src/attention/host/avx512_dot.cpp": "block_kernel_oracle_test",
    "src/attention/host/avx512_fma.cpp": "block_kernel_oracle_test",
    "src/attention/host/avx512_peak.cpp": "peak_test",
    "src/attention/host/registry.cpp": "block_kernel_create_test",
    "src/attention/host/scalar_kernel.cpp": "block_kernel_oracle_test",
    "src/attention/host/tiled_kernel.cpp": "block_kernel_state_test",
    "src/collectives/channel_state.cpp": "basic_test (order of streams), alloc_test (the cache)",
    "src/collectives/executor.cpp": "basic_test, softmax_all_reduce_test, disagreement_test",
    "src/collectives/rotation_blocks.cpp": "ring_rotation_test",
    "src/collectives/rotation_walk.cpp": "ring_rotation_test",
    "src/collectives/send_recv.cpp": "exchange_test, exchange_disagreement_test",
    "src/collectives/staged_run.cpp": "suite_test (windows, private and strided memory)",
    "src/collectives/tensor_checks.cpp": "reduce_test, exchange_test",
    "src/collectives/work.cpp": "basic_test",
    "src/comm/channel.cpp": "communicator_test",
    "src/comm/child_watch.cpp": "run_processes_test",
    "src/comm/comm_state.cpp": "communicator_test",
    "src/comm/memory_pool.cpp": "communicator_test",
    "src/comm/rotation_mode.cpp": "places_test",
    # tests/plan/: slices are judged as whole plans, and the verifier's parts by mutants of whole plans
    "src/plan/lanes.cpp": "verify_test, mutants_test",
    "src/plan/op_text.cpp": "verify_test",
    "src/plan/rules/all_gather.cpp": "rules_test",
    "src/plan/rules/direct_read.cpp": "rules_test",
    "src/plan/rules/exchange_slice.cpp": "rules_test",
    "src/plan/rules/exchange.cpp": "rules_test",
    "src/plan/rules/reduce.cpp": "rules_test",
    "src/plan/rules/relay.cpp": "rules_test",
    "src/plan/rules/rotation.cpp": "rules_test",
    "src/plan/rules/rule_checks.cpp": "rules_test",
    "src/plan/rules/slice_builder.cpp": "rules_test",
    "src/plan/rules/softmax.cpp": "rules_test",
    "src/plan/verify/coverage.cpp": "verify_test, mutants_test",
    "src/plan/verify/slot_access.cpp": "mutants_test",
    "src/plan/verify/slot_content.cpp": "verify_test, mutants_test",
    "src/plan/verify/slot_order.cpp": "verify_test, mutants_test",
    "src/plan/verify/slot_reads.cpp": "verify_test, mutants_test",
    "src/plan/verify/structure.cpp": "verify_test, mutants_test",
}

BANNED = [
    (r"\batomic_thread_fence\b",
     "put acquire/release on the flag itself: ThreadSanitizer reports stand-alone fences falsely"),
    (r"-ffast-math|-Ofast|-ffinite-math-only", "the -inf and NaN rules depend on IEEE arithmetic"),
    (r"\busing namespace\b", "name what you use"),
    (r"\b(TODO|FIXME|XXX)\b", "open an issue instead"),
    (r"\bstd::(cout|cerr)\b", "core/log.hpp in the library, std::printf in programs"),
    (r"\bsprintf\(|\bstrcpy\(|\bstrcat\(|\bgets\(", "concat() or snprintf"),
    (r"\bsigaction\(|\bstd::signal\(", "a library installs no signal handlers"),
    (r"\bshm_open\(|\bshmget\(", "memory has no name: device/segment.hpp"),
]
# (word in the pattern, file): reason
BANNED_EXCEPTIONS = {
    ("sigaction", "src/comm/child_watch.cpp"): "only asks which signals are ignored; installs nothing",
}
