// SPDX-License-Identifier: Apache-2.0
// What is wrong with a job: one answer, graded, with the lines it rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/pci.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

/// In the order of docs/diagnosis.md; the labels are stable.
enum class FaultKind : std::uint8_t {
  none,  ///< runs normally
  rank_not_entered,
  rank_behind,
  order_inversion,
  op_mismatch,
  size_mismatch,
  dtype_mismatch,
  ring_step_mismatch,
  p2p_cycle,
  p2p_unmatched,
  slot_reuse,
  plan_mismatch,
  concurrent_communicators,
  rank_died,
  rank_exception,
  rank_unresponsive,
  host_paused,
  gpu_fault,
  nvlink_fault,
  p2p_path_broken,
  network_fault,
  net_config,
  topology_mismatch,
  topology_suboptimal,
  rank_gpu_binding,
  resource_limit,
  version_mismatch,
  graph_capture,
  teardown_hang,
  all_entered_no_progress,
  insufficient_evidence,
};
/// "rank_not_entered"; stable.
std::string_view name_of(FaultKind kind);
/// What the kind is, in one sentence for people.
std::string_view sentence_of(FaultKind kind);

enum class Grade : std::uint8_t { cannot_tell, possible, likely, certain };
/// "cannot-tell", "possible", "likely", "certain"; stable.
std::string_view name_of(Grade grade);

/// A line of the evidence that the answer rests on.
struct Quote {
  Where where{};
  std::string text{};  ///< the line, at most 200 characters
  std::string says{};  ///< what follows from it; may be empty
};

/// One rank in one group; unset: unknown.
struct MemberState {
  std::string rank{};  ///< "3", or a name where no rank can be known
  std::optional<std::int64_t> enqueued{}, started{}, completed{};
  std::string
      op{};  ///< the first one not completed, "all_to_all 4096 x bfloat16"; empty: none open or unknown
  bool is_waiting = false;
  bool has_evidence = true;
};

struct GroupState {
  std::string name{};
  int size = -1;  ///< -1: unknown
  std::string stuck_op{}, stuck_seq{};
  std::vector<MemberState> members{};
};

/// `from` waits for `to`.
struct WaitEdge {
  std::string from{}, to{}, group{}, op{};
};

struct Verdict {
  FaultKind kind = FaultKind::insufficient_evidence;
  Grade grade = Grade::cannot_tell;
  /// Ranks as numbers ("3"); where no rank can be known a name ("GPU 3 of nodeb").
  std::vector<std::string> culprits{}, suspects{}, victims{};
  std::string group{}, op{}, seq{};  ///< what is stuck; empty: not in the evidence
  std::string title{};               ///< one sentence: who, what, where
  std::vector<std::string> why{};    ///< sentences with the numbers
  std::vector<Quote> evidence{};
  std::string
      counter_check{};  ///< another story for the same lines, and what speaks against it; may be empty
  std::string fix{};    ///< what to do
  std::vector<std::string> collect{};  ///< commands that would settle or sharpen it, best first
  std::vector<std::string> ranks_without_evidence{};
  std::optional<int> world_size{};
  std::vector<GroupState> groups{};
  std::vector<WaitEdge> graph{};
  std::vector<WaitEdge> cycle{};  ///< of an order inversion or a p2p cycle
};

/// Exit code of `ringcomm-doctor hang`: 0 nothing wrong; 1 something is wrong with a rank's program (not
/// entered, mismatch, order, exception, ...); 2 with a process, device, wire, limit or set-up; 3 the evidence
/// does not tell.
int exit_code_of(FaultKind kind);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
