// SPDX-License-Identifier: Apache-2.0
// Predicted time of attention, of a layer and of a pass: closed forms of the topology and attention notes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "fabric.hpp"

namespace ringcomm::planner {

enum class Strategy : std::uint8_t {
  ring,         ///< one ring over all ranks; between hosts heads are split over rails where they divide
  double_ring,  ///< rings inside the hosts, one exchange between hosts for each of their turns
  all_gather,   ///< all K and V on every rank first
  all_to_all    ///< heads for sequence and back (Ulysses)
};
inline constexpr std::array kStrategies{Strategy::ring, Strategy::double_ring, Strategy::all_gather,
                                        Strategy::all_to_all};
std::string_view name_of(Strategy strategy);
/// Empty, or why this split cannot use it.
std::string refusal_of(Strategy strategy, const ModelShape& shape, const Split& split, const CpPlace& place);

/// One direction of the layer. Backward (attention notes 6.4, 6.12): 2.5 times the work, and the gradient of
/// K and V in fp32 travels with them.
enum class Direction : std::uint8_t { forward, backward };

/// What one rank does in one layer on one micro-batch: plain numbers, everything known.
struct AttentionLoad {
  int ranks = 1;               ///< of the CP group
  double kv_bytes = 0;         ///< K and V of the largest shard that one TP rank has
  double gradient_bytes = 0;   ///< of K and V, travelling back; 0 in forward
  double exchange_bytes = 0;   ///< Q, K, V and O of one rank (all-to-all)
  double step_flop = 0;        ///< of the busiest rank in a step
  double first_step_flop = 0;  ///< step 0, the own block
  double exchange_flop = 0;    ///< of one rank with its heads of the whole sequence (all-to-all)
  int rails = 1;               ///< rings that heads are split over between hosts
};
AttentionLoad attention_load(const ModelShape& shape, const Work& work, const Split& split,
                             std::int64_t tokens, const CpPlace& place, const Rates& rates,
                             Direction direction);

struct AttentionTime {
  int steps = 1;
  double step_compute_us = 0;
  double step_transfer_us = 0;   ///< 0 with one rank
  double outer_transfer_us = 0;  ///< double ring: the exchange behind a whole turn
  double compute_us = 0;
  double transfer_us = 0;  ///< all of it, hidden or not
  double total_us = 0;
  double exposed_us = 0;     ///< total - compute
  std::string_view limit{};  ///< "compute", "edge inside a host", "NIC"
  bool is_hidden = false;    ///< every transfer ends before the compute beside it
};
AttentionTime attention_time(Strategy strategy, const AttentionLoad& load, const CpPlace& place,
                             const Rates& rates);

/// Shortest shard (tokens per rank) whose transfer hides behind the compute of its step; the latency counts;
/// 2^40 if none does.
std::int64_t tokens_to_hide(const ModelShape& shape, const Work& work, const Split& split,
                            const CpPlace& place, const Rates& rates);

}  // namespace ringcomm::planner
