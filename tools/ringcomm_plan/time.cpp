// SPDX-License-Identifier: Apache-2.0
#include "time.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

constexpr double kBackwardWork = 2.5;  // five matrix products for two: attention notes 6.12
constexpr double kGradientBytes = 4;   // dK and dV travel in fp32: attention notes 6.4
constexpr std::string_view kCompute = "compute";
constexpr std::string_view kLocal = "edge inside a host";
constexpr std::string_view kNic = "NIC";

/// A block over one edge between hosts: `sharing` groups with `rails` rings each share the NICs (topology
/// notes 2.5).
double network_us(double bytes, const CpPlace& place, const Rates& rates, int rails) {
  const int nics = std::min(rates.nics, place.sharing * rails);
  return rates.nic_alpha_us + bytes * place.sharing / (nics * rates.nic_bytes_per_us);
}
double local_us(double bytes, const Rates& rates) {
  return rates.local_alpha_us + bytes / rates.local_bytes_per_us;
}

/// (n-1) * max(compute, transfer) + compute, the first step with its own compute: topology notes 2.5.
double ring_us(int steps, double first, double compute, double transfer) {
  if (steps == 1) return first;
  return std::max(first, transfer) + (steps - 2) * std::max(compute, transfer) + compute;
}

AttentionTime time_ring(const AttentionLoad& load, const CpPlace& place, const Rates& rates) {
  AttentionTime time{.steps = load.ranks};
  const double first = load.first_step_flop / rates.flop_per_us;
  time.step_compute_us = load.step_flop / rates.flop_per_us;
  const double bytes = load.kv_bytes + load.gradient_bytes;
  const double local = place.per_host > 1 ? local_us(bytes, rates) : 0;
  const double network = place.hosts > 1 ? network_us(bytes, place, rates, load.rails) : 0;
  time.step_transfer_us = std::max(local, network);
  time.compute_us = first + (load.ranks - 1) * time.step_compute_us;
  time.transfer_us = (load.ranks - 1) * time.step_transfer_us;
  time.total_us = ring_us(load.ranks, first, time.step_compute_us, time.step_transfer_us);
  time.is_hidden = time.step_transfer_us <= std::min(first, time.step_compute_us);
  time.limit = time.step_transfer_us <= time.step_compute_us ? kCompute : network > local ? kNic : kLocal;
  return time;
}

/// A turn of the inner ring per host; the outer block is sent at the start of a turn and needed at its end.
AttentionTime time_double_ring(const AttentionLoad& load, const CpPlace& place, const Rates& rates) {
  AttentionTime time{.steps = load.ranks};
  const double first = load.first_step_flop / rates.flop_per_us;
  const double bytes = load.kv_bytes + load.gradient_bytes;
  const int turns = place.hosts;
  time.step_compute_us = load.step_flop / rates.flop_per_us;
  time.step_transfer_us = place.per_host > 1 ? local_us(bytes, rates) : 0;
  // All GPUs of a host send at once, each its block.
  const double senders = place.sharing * place.per_host;
  time.outer_transfer_us =
      rates.nic_alpha_us + bytes * senders / (std::min<double>(rates.nics, senders) * rates.nic_bytes_per_us);
  const double first_turn = ring_us(place.per_host, first, time.step_compute_us, time.step_transfer_us);
  const double turn =
      ring_us(place.per_host, time.step_compute_us, time.step_compute_us, time.step_transfer_us);
  time.compute_us = first + (load.ranks - 1) * time.step_compute_us;
  time.transfer_us =
      turns * (place.per_host - 1) * time.step_transfer_us + (turns - 1) * time.outer_transfer_us;
  time.total_us = std::max(first_turn, time.outer_transfer_us) +
                  (turns - 2) * std::max(turn, time.outer_transfer_us) + turn;
  time.limit = time.outer_transfer_us > turn                  ? kNic
               : time.step_transfer_us > time.step_compute_us ? kLocal
                                                              : kCompute;
  time.is_hidden = time.outer_transfer_us <= std::min(first_turn, turn) &&
                   time.step_transfer_us <= std::min(first, time.step_compute_us);
  return time;
}

/// All blocks arrive before the first tile: nothing is hidden. Each enters a host once.
AttentionTime time_all_gather(const AttentionLoad& load, const CpPlace& place, const Rates& rates) {
  AttentionTime time{.steps = 1};
  const double bytes = load.kv_bytes + load.gradient_bytes;
  const double local = place.per_host > 1 ? local_us(bytes * (load.ranks - 1), rates) : 0;
  const double network =
      place.hosts > 1 ? network_us(bytes * (load.ranks - place.per_host), place, rates, rates.nics) : 0;
  time.compute_us = (load.first_step_flop + (load.ranks - 1) * load.step_flop) / rates.flop_per_us;
  time.step_compute_us = time.compute_us;
  time.step_transfer_us = time.transfer_us = std::max(local, network);
  time.total_us = time.compute_us + time.transfer_us;
  time.limit = time.transfer_us <= time.compute_us ? kCompute : network > local ? kNic : kLocal;
  return time;
}

/// Two exchanges, before and after: nothing is hidden (attention notes 6.11).
AttentionTime time_all_to_all(const AttentionLoad& load, const CpPlace& place, const Rates& rates) {
  AttentionTime time{.steps = 1};
  const double bytes = load.exchange_bytes;
  const double peers = load.ranks;
  const double local = place.per_host > 1 ? 2 * rates.local_alpha_us + bytes * (place.per_host - 1) / peers /
                                                                           rates.local_bytes_per_us
                                          : 0;
  const double leaving = bytes * place.per_host * (peers - place.per_host) / peers;
  const double network =
      place.hosts > 1 ? rates.nic_alpha_us + network_us(leaving, place, rates, rates.nics) : 0;
  time.compute_us = time.step_compute_us = load.exchange_flop / rates.flop_per_us;
  time.transfer_us = time.step_transfer_us = std::max(local, network);
  time.total_us = time.compute_us + time.transfer_us;
  time.limit = time.transfer_us <= time.compute_us ? kCompute : network > local ? kNic : kLocal;
  return time;
}

}  // namespace

std::string_view name_of(Strategy strategy) {
  constexpr std::array<std::string_view, 4> kNames{"ring", "double-ring", "all-gather", "all-to-all"};
  return kNames[static_cast<std::size_t>(strategy)];
}

std::string refusal_of(Strategy strategy, const ModelShape& shape, const Split& split, const CpPlace& place) {
  if (strategy == Strategy::double_ring) {
    if (place.hosts < 2) return "one host: there is no outer ring";
    if (place.per_host < 2) return "one rank of the group on a host: there is no inner ring";
    if (!place.is_even)
      return concat("ranks of the group on a host ", place.per_host, " must divide cp ", split.cp);
  }
  const int heads = shape.heads / split.tp;
  if (strategy == Strategy::all_to_all && heads < split.cp)
    return concat("cp ", split.cp, " must not exceed heads / tp = ", heads);
  return {};
}

AttentionLoad attention_load(const ModelShape& shape, const Work& work, const Split& split,
                             std::int64_t tokens, const CpPlace& place, const Rates& rates,
                             Direction direction) {
  AttentionLoad load{.ranks = split.cp};
  const double dim = shape.head_dim;
  const double item = static_cast<double>(bytes_of(shape.dtype));
  const double batch = static_cast<double>(work.micro_batch);
  const double shard = static_cast<double>(tokens) / split.cp;
  const int heads = shape.heads / split.tp;
  const int kv_heads = kv_heads_per_rank(shape, split.tp);
  const double factor = direction == Direction::backward ? kBackwardWork : 1;
  load.kv_bytes = 2 * shard * kv_heads * dim * item * batch;
  if (direction == Direction::backward) load.gradient_bytes = load.kv_bytes * kGradientBytes / item;
  // Two matrix products, two operations each. Zigzag halves every step's work, the contiguous layout that of
  // the own block only: its last rank sees all other blocks whole (attention notes 6.5, 6.12).
  const double full = 4 * heads * dim * shard * shard * batch * factor;
  const bool is_causal = shape.mask == Mask::causal;
  load.first_step_flop = is_causal ? full / 2 : full;
  load.step_flop = is_causal && layout_of(shape, work) == Layout::zigzag ? full / 2 : full;
  // Heads need not divide: the rank with most of them counts.
  const double exchanged_heads = (heads + split.cp - 1) / split.cp;
  const double exchanged_kv = (kv_heads + split.cp - 1) / split.cp;
  const double length = static_cast<double>(tokens);
  load.exchange_bytes = length * (2 * exchanged_heads + 2 * exchanged_kv) * dim * item * batch;
  load.exchange_flop = (is_causal ? 2 : 4) * exchanged_heads * dim * length * length * batch * factor;
  load.rails = std::max(1, std::min({rates.nics / place.sharing, kv_heads, place.per_host}));
  return load;
}

AttentionTime attention_time(Strategy strategy, const AttentionLoad& load, const CpPlace& place,
                             const Rates& rates) {
  AttentionTime time;
  if (load.ranks == 1 || strategy == Strategy::ring)
    time = time_ring(load, place, rates);
  else if (strategy == Strategy::double_ring)
    time = time_double_ring(load, place, rates);
  else if (strategy == Strategy::all_gather)
    time = time_all_gather(load, place, rates);
  else
    time = time_all_to_all(load, place, rates);
  time.exposed_us = std::max(0.0, time.total_us - time.compute_us);
  return time;
}

std::int64_t tokens_to_hide(const ModelShape& shape, const Work& work, const Split& split,
                            const CpPlace& place, const Rates& rates) {
  const auto hides = [&](std::int64_t shard) {
    const AttentionLoad load =
        attention_load(shape, work, split, shard * split.cp, place, rates, Direction::forward);
    return attention_time(Strategy::ring, load, place, rates).is_hidden;
  };
  // Compute grows with the square of the shard, the transfer linearly: one sign change.
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (!hides(high) && high < (std::int64_t{1} << 40)) high *= 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (hides(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace ringcomm::planner
