// SPDX-License-Identifier: Apache-2.0
// Where the ranks run and in which order the ring visits them: found by each, agreed by all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/placement.hpp"
#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/machine.hpp"
#include "ringcomm/topology/rank_order.hpp"

namespace ringcomm::inline v0::comm {

using Place = RankPlace;  // host: hash of the kernel's boot id

/// GB/s that were measured (`ringcomm-perf --calibrate`); 0: not measured.
struct MeasuredSpeeds {
  double inside = 0;   ///< between ranks of one memory node
  double between = 0;  ///< between two packages, one direction
};

/// Which job and communicator a rank's flight record belongs to.
struct JobIdentity {
  std::uint64_t job = 0;  ///< the same for a job's first communicator and all that were split from it
  std::uint64_t communicator = 0;  ///< the same on all its ranks, unlike any other's
  int world_rank = 0;              ///< in the job's first communicator
  int world_size = 1;
  std::vector<int> world_ranks{};  ///< [ranks] of all ranks
};

/// What a communicator that was split has from its parent.
struct Ancestry {
  Placement placement{};
  std::uint64_t job = 0;
  int world_rank = 0;
  int world_size = 1;
};

/// What a rank wants of its topology; the same on all ranks, but for the machine.
struct TopologyWish {
  std::shared_ptr<const Machine> machine{};  ///< null: the cores of this one, live
  /// Empty: planned. Else a permutation of the ranks that the user forces.
  std::vector<int> ring_order{};
  bool keeps_rank_order = false;  ///< 0, 1, 2, ... is forced
  std::string order_source = "RINGCOMM_RING_ORDER";
  MeasuredSpeeds speeds{};
  MergeLimits merge{};
};

struct Agreement {
  Placement placement{};          ///< of this rank
  std::vector<Place> places{};    ///< [ranks]
  std::vector<int> ring_order{};  ///< [ranks] a permutation
  MeasuredSpeeds speeds{};        ///< rank 0's
  MergeLimits merge{};            ///< rank 0's; cache_bytes is its last cache where that was not measured
  JobIdentity identity{};
};

/// Collective, two all_gathers. `parent`: null for the first communicator of a job. Ranks of one host
/// that a launcher has bound to different CPUs stay on theirs; else the host's cores are spread over its
/// ranks. Errors: what all_gather says; mismatch when the ranks force different orders; invalid_argument (on
/// all ranks) for an order that is none.
Result<Agreement> agree_on_places(Bootstrap& group, const TopologyWish& wish, const Ancestry* parent,
                                  Deadline deadline);

/// One line: the order, and how many of its edges leave a memory node, a package, a host.
std::string explain_ring(std::span<const Place> places, std::span<const int> order);

/// One line: what a communicator's softmax merges go by.
std::string explain_merge(const MergeLimits& limits);

/// "2,0,1" or "2 0 1" for `ranks` ranks. invalid_argument names `source` and what is wrong.
Result<std::vector<int>> parse_ring_order(std::string_view text, std::string_view source);
Status check_ring_order(const std::vector<int>& order, int ranks, std::string_view source);

}  // namespace ringcomm::inline v0::comm
