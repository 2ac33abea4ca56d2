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
#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0::comm {

/// Where one rank runs, as far as a path between two of them is concerned. -1: unknown, or several.
struct Place {
  std::uint64_t host = 0;  ///< hash of the kernel's boot id
  std::int32_t package = -1;
  std::int32_t memory_node = -1;
  friend bool operator==(const Place&, const Place&) = default;
};

/// GB/s that were measured (`ringcomm-perf --calibrate`); 0: not measured.
struct MeasuredSpeeds {
  double inside = 0;   ///< between ranks of one memory node
  double between = 0;  ///< between two packages, one direction
};

/// What a rank wants of its topology; the same on all ranks, but for the machine.
struct TopologyWish {
  std::shared_ptr<const Machine> machine{};  ///< null: the cores of this one, live
  /// Empty: planned. Else a permutation of the ranks that the user forces.
  std::vector<int> ring_order{};
  bool keeps_rank_order = false;  ///< 0, 1, 2, ... is forced
  std::string order_source = "RINGCOMM_RING_ORDER";
  MeasuredSpeeds speeds{};
};

struct Agreement {
  Placement placement{};          ///< of this rank
  std::vector<Place> places{};    ///< [ranks]
  std::vector<int> ring_order{};  ///< [ranks] a permutation
  MeasuredSpeeds speeds{};        ///< rank 0's
};

/// Collective, two all_gathers. `inherited`: this rank has a placement already (split). Ranks of one host
/// that a launcher has bound to different CPUs stay on theirs; else the host's cores are spread over its
/// ranks. Errors: what all_gather says; mismatch when the ranks force different orders; invalid_argument (on
/// all ranks) for an order that is none.
Result<Agreement> agree_on_places(Bootstrap& group, const TopologyWish& wish, const Placement* inherited,
                                  Deadline deadline);

/// The ring of least cost over these places, begun at rank 0: hosts are entered once, packages of a host
/// once, memory nodes of a package once; ranks that share a place are neighbours. Where the order 0, 1, 2,
/// ... costs no more, it is the result.
Result<std::vector<int>> ring_over(std::span<const Place> places);

/// "2,0,1" or "2 0 1" for `ranks` ranks. invalid_argument names `source` and what is wrong.
Result<std::vector<int>> parse_ring_order(std::string_view text, std::string_view source);
Status check_ring_order(const std::vector<int>& order, int ranks, std::string_view source);

}  // namespace ringcomm::inline v0::comm
