// SPDX-License-Identifier: Apache-2.0
// Faults made for real: what each rank does, and what the records left behind have to tell of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fault_ranks.hpp"
#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::test {

/// Where and when one run has its fault; drawn from a seed, the same on all ranks.
struct FaultSite {
  int ranks = 4;
  int culprit = 0;
  int rounds = 3;  ///< healthy ones before
  int step = 1;    ///< of the rotation, where the fault is inside one
  std::chrono::milliseconds deadline{500};
  const std::atomic<bool>* is_over =
      nullptr;  ///< the verdict has been read; null: the process will be killed

  bool is_culprit(const Communicator& comm) const { return comm.rank() == culprit; }
  /// Holds a communicator of this rank until the verdict has been read.
  void keep(Communicator comm) const;
  /// By the same thread, before its first communicator goes.
  static void drop_kept();
  /// Sleeps until the verdict has been read, at most 20 s.
  void idle() const;
};

/// Whom the verdict has to name.
enum class Named : std::uint8_t {
  culprit,      ///< as culprit, exactly
  in_a_circle,  ///< nobody as culprit, this rank among the suspects
};

struct FaultCase {
  std::string_view name;
  diag::FaultKind kind;
  bool has_threads = true, has_processes = true;
  Named named = Named::culprit;
  /// After the healthy rounds. What it returns or throws is the rank's own end.
  std::function<Status(Communicator&, const FaultSite&)> body;
  /// Misbehaving transports of this run; empty: the library's.
  std::function<std::vector<TransportFactory>(Medium, const FaultSite&)> transports{};
  int ranks_min = 3;
};
/// One or more for each row of the taxonomy that a host can show.
std::vector<FaultCase> fault_cases();
// Its parts, by theme.
void add_call_faults(std::vector<FaultCase>& cases);     ///< never entered, late, mismatches
void add_order_faults(std::vector<FaultCase>& cases);    ///< inversions, messages, steps of a ring
void add_process_faults(std::vector<FaultCase>& cases);  ///< died, stopped, raised, torn down
void add_plan_faults(std::vector<FaultCase>& cases);     ///< slots, plans, sizes of the world

/// Site of run `seed`: rank 0 is the culprit of every seed that 4 divides.
FaultSite draw_site(const FaultCase& fault, std::uint64_t seed);

struct FaultRun {
  diag::Verdict verdict{};
  std::string said{};        ///< what the ranks returned, a line each
  std::int64_t late_ms = 0;  ///< from the deadline (of what began last) to the verdict
  bool is_right_kind = false, is_right_culprit = false;
};
/// Makes the fault, reads the records that are there when everybody but the culprit has given up.
FaultRun run_fault(const FaultCase& fault, Medium medium, const FaultSite& site);

// Calls for bodies.
/// `elements` of `dtype`, summed over the channel.
Status reduce_once(Channel& channel, std::int64_t elements, DType dtype = DType::float32,
                   ReduceOp op = ReduceOp::sum, std::chrono::milliseconds deadline = {});
Status gather_once(Channel& channel, std::int64_t elements, DType dtype = DType::float32);
/// A barrier, an all-reduce and a whole rotation, with a deadline for machines that are busy with other
/// things.
Status healthy_round(Communicator& comm, int round);

}  // namespace ringcomm::test
