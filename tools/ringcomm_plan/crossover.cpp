// SPDX-License-Identifier: Apache-2.0
#include "crossover.hpp"

#include <algorithm>
#include <limits>

namespace ringcomm::planner {
namespace {

/// Microseconds of one layer's attention, forward; infinite where the strategy is refused.
double attention_us(const Request& request, const Split& split, Strategy strategy, std::int64_t tokens) {
  const CpPlace place = place_cp(request.fabric, split);
  if (split.cp > 1 && !refusal_of(strategy, request.shape, split, place).empty())
    return std::numeric_limits<double>::infinity();
  Work work = request.work;
  work.tokens = tokens;
  work.phase = Phase::forward;
  return step_time(request.shape, work, split, strategy, request.fabric).layer.forward.total_us;
}

double best_us(const Request& request, const Split& split, std::int64_t tokens) {
  double best = std::numeric_limits<double>::infinity();
  for (const Strategy strategy : kStrategies)
    best = std::min(best, attention_us(request, split, strategy, tokens));
  return best;
}

}  // namespace

std::optional<std::int64_t> wins_from(const TimeOfLength& first, const TimeOfLength& second) {
  const auto loses = [&](std::int64_t tokens) { return first(tokens) >= second(tokens); };
  std::int64_t last = 0;
  for (std::int64_t tokens = 1; tokens <= kCrossoverTokensMax; tokens *= 2) {
    if (loses(tokens)) last = tokens;
  }
  if (last == 0) return 1;
  if (last == kCrossoverTokensMax) return std::nullopt;
  std::int64_t low = last;
  std::int64_t high = 2 * last;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (loses(middle) ? low : high) = middle;
  }
  return high;
}

Crossovers find_crossovers(const Request& request, const Split& split) {
  Crossovers found;
  const Missing missing = missing_numbers(request.fabric, split, Phase::forward);
  if (split.cp == 1 || !missing.compute.empty() || !missing.transfer.empty()) return found;
  found.is_known = true;
  const Split alone{.tp = split.tp, .cp = 1, .pp = split.pp, .dp = split.dp};
  const CpPlace place = place_cp(request.fabric, split);
  const auto of = [&](const Split& which, Strategy strategy) {
    return [&request, which, strategy](std::int64_t tokens) {
      return attention_us(request, which, strategy, tokens);
    };
  };
  const TimeOfLength ring = of(split, Strategy::ring);
  found.parallel_from = wins_from([&](std::int64_t tokens) { return best_us(request, split, tokens); },
                                  of(alone, Strategy::ring));
  found.ring_over_gather = wins_from(ring, of(split, Strategy::all_gather));
  found.exchange_is_possible = refusal_of(Strategy::all_to_all, request.shape, split, place).empty();
  if (found.exchange_is_possible) found.ring_over_exchange = wins_from(ring, of(split, Strategy::all_to_all));
  const Rates rates = rates_of(request.fabric);
  found.hides_from = tokens_to_hide(request.shape, request.work, split, place, rates);
  for (const std::int64_t tokens : {1024, 4096, 16384, 65536, 262144, 1048576}) {
    Crossovers::Row row{.tokens = tokens,
                        .one_rank_us = attention_us(request, alone, Strategy::ring, tokens)};
    for (const Strategy strategy : kStrategies) {
      const double us = attention_us(request, split, strategy, tokens);
      row.strategy_us.push_back(us < std::numeric_limits<double>::infinity() ? std::optional(us)
                                                                             : std::nullopt);
    }
    found.rows.push_back(std::move(row));
  }
  const AttentionTime now =
      attention_time(Strategy::ring,
                     attention_load(request.shape, request.work, split, request.work.tokens, place, rates,
                                    Direction::forward),
                     place, rates);
  found.compute_over_transfer = now.step_compute_us / now.step_transfer_us;
  return found;
}

}  // namespace ringcomm::planner
