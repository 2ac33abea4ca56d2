// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's flight recorder made on the spot, in both of their encodings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::diag::samples {

/// One entry of a dump; the fields that tests vary.
struct Call {
  int pg_id = 0;
  std::string group = "0", description = "default_pg";
  std::string name = "nccl:all_reduce";
  long seq = 1, p2p_seq = 0;
  std::string state = "scheduled";
  long created_ns = 1'700'000'000'000'000'000, started_ns = 0, completed_ns = 0;  ///< 0: not known
  bool is_retired = false, is_p2p = false, has_frames = false;
  long timeout_ms = 600'000;
};
struct Group {
  std::string name = "0", description = "default_pg", ranks = "[0, 1, 2, 3]";
};
struct Counters {
  int pg_id = 0;
  long enqueued = 1, started = -1, completed = 0;
};
struct Sample {
  std::string version = "2.9";
  std::vector<Group> groups{{}};
  std::vector<Counters> status{{}};
  std::vector<Call> calls{};
};

/// JSON: counters are strings, unknown times 0, no entries at all when there are none.
std::string as_json(const Sample& sample);
/// Pickle as torch writes it (protocol 2): counters are numbers, unknown times None, a tuple for the group.
std::string as_pickle(const Sample& sample);
/// Any JSON text as a pickle of protocol 4, as Python writes one.
std::string json_to_pickle(std::string_view json);

HangEvidence read(const std::string& bytes, const std::string& name = "nccl_trace_rank_2");

}  // namespace ringcomm::diag::samples
