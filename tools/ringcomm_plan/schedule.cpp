// SPDX-License-Identifier: Apache-2.0
#include "schedule.hpp"

#include <algorithm>

namespace ringcomm::planner {
namespace {

/// Everything that is the same for all strategies.
class Simulation {
 public:
  Simulation(const ModelShape& shape, const Work& work, const Split& split, const Fabric& fabric,
             ShardMap map)
      : place_(place_cp(fabric, split)),
        rates_(rates_of(fabric)),
        load_(attention_load(shape, work, split, work.tokens, place_, rates_, Direction::forward)),
        map_(std::move(map)),
        band_(band_of(shape.mask)),
        flop_per_pair_(4.0 * shape.head_dim * (shape.heads / split.tp) *
                       static_cast<double>(work.micro_batch)),
        row_bytes_(2.0 * kv_heads_per_rank(shape, split.tp) * shape.head_dim *
                   static_cast<double>(bytes_of(shape.dtype)) * static_cast<double>(work.micro_batch)) {}

  int ranks() const { return map_.ranks(); }
  const CpPlace& place() const { return place_; }
  const AttentionLoad& load() const { return load_; }
  const Rates& rates() const { return rates_; }

  double compute_us(int reader, int source) const {
    double pairs = 0;
    for (const Chunk& q : map_.chunks_of(reader)) {
      for (const Chunk& k : map_.chunks_of(source))
        pairs += static_cast<double>(visible_pairs(band_, q.first, q.count, k.first, k.count));
    }
    return pairs * flop_per_pair_ / rates_.flop_per_us;
  }
  double block_bytes(int source) const { return static_cast<double>(map_.rows_of(source)) * row_bytes_; }
  double inside_us(int source) const {
    return rates_.local_alpha_us + block_bytes(source) / rates_.local_bytes_per_us;
  }
  /// All NICs of a host carry the blocks of `senders` ranks.
  double between_us(int source, double senders, double nics) const {
    return rates_.nic_alpha_us + block_bytes(source) * senders / (nics * rates_.nic_bytes_per_us);
  }

  /// Edge from the rank before `rank`: a block over it. Split over rails, every rank's data crosses together.
  double hop_us(int rank, int source) const {
    const bool crosses = place_.hosts > 1 && (rank % place_.per_host == 0 || load_.rails > 1);
    const double inside = place_.per_host > 1 ? inside_us(source) : 0;
    if (!crosses) return inside;
    const double nics = std::min(rates_.nics, place_.sharing * load_.rails);
    return std::max(load_.rails > 1 ? inside : 0, between_us(source, place_.sharing, nics));
  }

  Schedule result(int steps) {
    schedule.ranks = ranks();
    schedule.steps = steps;
    for (const Bar& bar : schedule.bars) schedule.end_us = std::max(schedule.end_us, bar.to_us);
    std::vector<double> busy(static_cast<std::size_t>(ranks()), 0.0);
    for (const Bar& bar : schedule.bars) {
      if (bar.is_compute) busy[static_cast<std::size_t>(bar.rank)] += bar.to_us - bar.from_us;
    }
    schedule.compute_us = *std::max_element(busy.begin(), busy.end());
    return std::move(schedule);
  }
  Schedule schedule;

 private:
  CpPlace place_;
  Rates rates_;
  AttentionLoad load_;
  ShardMap map_;
  VisibleBand band_;
  double flop_per_pair_;
  double row_bytes_;
};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Relay with two slots: step t's block goes into slot t mod 2, which step t-2 must have left; it leaves the
/// neighbour once it is there; one transfer at a time into a rank.
Schedule simulate_ring(Simulation sim, int steps) {
  const int ranks = sim.ranks();
  std::vector<double> arrived(index(ranks), 0.0), received(index(ranks), 0.0);  // of the current step
  std::vector<double> done(index(ranks), 0.0), done_before(index(ranks), 0.0);  // compute of t-1 and t-2
  for (int step = 0; step < steps; ++step) {
    std::vector<double> now(index(ranks), 0.0);
    for (int rank = 0; rank < ranks && step > 0; ++rank) {
      const int source = (rank - step + ranks) % ranks;
      const double slot_free = step >= 3 ? done_before[index(rank)] : 0.0;
      const double from =
          std::max({arrived[index((rank + ranks - 1) % ranks)], received[index(rank)], slot_free});
      now[index(rank)] = from + sim.hop_us(rank, source);
      sim.schedule.bars.push_back({rank, step, source, false, false, from, now[index(rank)]});
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const int source = (rank - step + ranks) % ranks;
      const double from = std::max(done[index(rank)], now[index(rank)]);
      if (step > 0 && now[index(rank)] > done[index(rank)] * (1 + 1e-12))
        sim.schedule.is_transfer_bound = true;
      done_before[index(rank)] = done[index(rank)];
      done[index(rank)] = from + sim.compute_us(rank, source);
      sim.schedule.bars.push_back({rank, step, source, true, false, from, done[index(rank)]});
    }
    arrived = now;
    received = now;
  }
  return sim.result(steps);
}

/// A turn of the inner ring starts when the rank's outer block is there and its last turn is done.
Schedule simulate_double_ring(Simulation sim, int steps) {
  const int ranks = sim.ranks();
  const int width = sim.place().per_host;
  const double senders = sim.place().sharing * width;
  const double nics = std::min<double>(sim.rates().nics, senders);
  std::vector<double> free_at(index(ranks), 0.0), outer(index(ranks), 0.0);
  for (int turn = 0; turn * width < steps; ++turn) {
    std::vector<double> start(index(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      start[index(rank)] = std::max(free_at[index(rank)], outer[index(rank)]);
    std::vector<double> arrived = start, done = free_at;
    std::vector<double> done_before = free_at;
    for (int inner = 0; inner < width && turn * width + inner < steps; ++inner) {
      const int step = turn * width + inner;
      std::vector<double> now = start;
      const auto source_of = [&](int rank) {
        const int host = ((rank / width - turn) % (ranks / width) + ranks / width) % (ranks / width);
        return host * width + (rank % width - inner + width) % width;
      };
      for (int rank = 0; rank < ranks && inner > 0; ++rank) {
        const int before = rank / width * width + (rank % width + width - 1) % width;
        const double slot_free = inner >= 3 ? done_before[index(rank)] : 0.0;
        const double from = std::max({arrived[index(before)], arrived[index(rank)], slot_free});
        now[index(rank)] = from + sim.inside_us(source_of(rank));
        sim.schedule.bars.push_back({rank, step, source_of(rank), false, false, from, now[index(rank)]});
      }
      for (int rank = 0; rank < ranks; ++rank) {
        const double from = std::max(done[index(rank)], now[index(rank)]);
        if (step > 0 && now[index(rank)] > done[index(rank)] * (1 + 1e-12))
          sim.schedule.is_transfer_bound = true;
        done_before[index(rank)] = done[index(rank)];
        done[index(rank)] = from + sim.compute_us(rank, source_of(rank));
        sim.schedule.bars.push_back({rank, step, source_of(rank), true, false, from, done[index(rank)]});
      }
      arrived = now;
    }
    if ((turn + 1) * width < steps) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int peer = (rank - width + ranks) % ranks;
        const int source =
            ((rank / width - turn - 1 + 2 * (ranks / width)) % (ranks / width)) * width + rank % width;
        const double from = std::max(start[index(peer)], start[index(rank)]);
        outer[index(rank)] = from + sim.between_us(source, senders, nics);
        sim.schedule.bars.push_back(
            {rank, (turn + 1) * width, source, false, true, from, outer[index(rank)]});
      }
    }
    free_at = done;
  }
  return sim.result(steps);
}

/// Everything arrives, then everything is computed.
Schedule simulate_gather(Simulation sim) {
  const int ranks = sim.ranks();
  const CpPlace& place = sim.place();
  const Rates& rates = sim.rates();
  for (int rank = 0; rank < ranks; ++rank) {
    double inside = 0, between = 0, compute = 0;
    for (int source = 0; source < ranks; ++source) {
      compute += sim.compute_us(rank, source);
      if (source != rank) inside += sim.block_bytes(source) / rates.local_bytes_per_us;
      if (source / place.per_host != rank / place.per_host)
        between += sim.block_bytes(source) * place.sharing / (rates.nics * rates.nic_bytes_per_us);
    }
    const double arrival = std::max(place.per_host > 1 ? rates.local_alpha_us + inside : 0,
                                    place.hosts > 1 ? rates.nic_alpha_us + between : 0);
    if (ranks > 1) sim.schedule.bars.push_back({rank, 0, rank, false, false, 0, arrival});
    sim.schedule.bars.push_back(
        {rank, 0, rank, true, false, ranks > 1 ? arrival : 0, (ranks > 1 ? arrival : 0) + compute});
  }
  sim.schedule.is_transfer_bound = ranks > 1;
  return sim.result(1);
}

/// Q, K, V out, the heads of the whole sequence, O back: half of the bytes each way and more.
Schedule simulate_exchange(Simulation sim, const ModelShape& shape, const Work& work, const Split& split) {
  const AttentionTime time = attention_time(Strategy::all_to_all, sim.load(), sim.place(), sim.rates());
  const int heads = (shape.heads / split.tp + split.cp - 1) / split.cp;
  const int kv_heads = (kv_heads_per_rank(shape, split.tp) + split.cp - 1) / split.cp;
  const double out = time.transfer_us * (heads + 2.0 * kv_heads) / (2.0 * heads + 2.0 * kv_heads);
  const double pairs =
      static_cast<double>(visible_pairs(band_of(shape.mask), 0, work.tokens, 0, work.tokens));
  const double compute =
      pairs * 4 * shape.head_dim * heads * static_cast<double>(work.micro_batch) / sim.rates().flop_per_us;
  for (int rank = 0; rank < sim.ranks(); ++rank) {
    sim.schedule.bars.push_back({rank, 0, rank, false, false, 0, out});
    sim.schedule.bars.push_back({rank, 0, rank, true, false, out, out + compute});
    sim.schedule.bars.push_back({rank, 0, rank, false, false, out + compute, compute + time.transfer_us});
  }
  sim.schedule.is_transfer_bound = sim.ranks() > 1;
  return sim.result(1);
}

}  // namespace

Schedule simulate(Strategy strategy, const ModelShape& shape, const Work& work, const Split& split,
                  const Fabric& fabric, int steps_max) {
  auto map = ShardMap::create(layout_of(shape, work), work.tokens, split.cp);
  if (!map.is_ok()) return {};
  Simulation sim(shape, work, split, fabric, std::move(map).value());
  const int steps = steps_max > 0 ? std::min(steps_max, split.cp) : split.cp;
  if (split.cp == 1 || strategy == Strategy::ring) return simulate_ring(std::move(sim), steps);
  if (strategy == Strategy::double_ring) return simulate_double_ring(std::move(sim), steps);
  if (strategy == Strategy::all_gather) return simulate_gather(std::move(sim));
  return simulate_exchange(std::move(sim), shape, work, split);
}

}  // namespace ringcomm::planner
