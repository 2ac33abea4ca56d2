// SPDX-License-Identifier: Apache-2.0
#include "choose.hpp"

#include <map>
#include <tuple>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

std::vector<int> divisors(int value) {
  std::vector<int> found;
  for (int d = 1; d <= value; ++d) {
    if (value % d == 0) found.push_back(d);
  }
  return found;
}

Status wrong_product(const Request& request) {
  const Split split{request.tp.value_or(1), request.cp.value_or(1), request.pp.value_or(1),
                    request.dp.value_or(1)};
  std::string product;
  for (const auto& [name, size] :
       {std::pair{"tp", request.tp}, {"cp", request.cp}, {"pp", request.pp}, {"dp", request.dp}}) {
    if (size) product += concat(product.empty() ? "" : " x ", name, " ", *size);
  }
  return Status::invalid_argument(concat(product, " = ", split.ranks(), " must ",
                                         request.tp && request.cp && request.dp ? "equal" : "divide",
                                         " ranks ", request.ranks));
}

/// Smaller is better.
auto order_of(const Request& request, const Candidate& candidate) {
  const auto time = candidate.compared_us(request);
  return std::tuple(!candidate.fits, !time.has_value(), time.value_or(candidate.memory.known_bytes),
                    candidate.split.tp, candidate.split.cp, candidate.strategy);
}

std::string reason_of(const Request& request, const Choice& choice) {
  const std::string among = concat(" of ", choice.splits, choice.splits == 1 ? " split" : " splits");
  if (!choice.best.fits)
    return concat("nothing fits into ", *request.fabric.gpu_gb, " GB: least memory", among);
  if (choice.best.compared_us(request))
    return concat("least time", among, request.fabric.gpu_gb ? " that fit" : "");
  return concat("least memory", among, " (time unknown)");
}

}  // namespace

std::optional<double> Candidate::compared_us(const Request& request) const {
  if (!time) return std::nullopt;
  if (time->total_us) return time->total_us;
  const double micro_batches = static_cast<double>(request.work.batch / split.dp / request.work.micro_batch);
  return (time->layer.attention_us + time->layer.tp_us) * request.shape.layers / split.pp * micro_batches *
         time->bubble;
}

Candidate judge(const Request& request, const Split& split, Strategy strategy) {
  Candidate candidate{.split = split, .strategy = strategy, .place = place_cp(request.fabric, split)};
  if (split.cp > 1) candidate.refused = refusal_of(strategy, request.shape, split, candidate.place);
  if (!candidate.refused.empty()) return candidate;
  candidate.memory = memory_per_rank(request.shape, request.work, split, strategy, candidate.place);
  candidate.missing = missing_numbers(request.fabric, split, request.work.phase);
  if (candidate.missing.compute.empty() && candidate.missing.transfer.empty())
    candidate.time = step_time(request.shape, request.work, split, strategy, request.fabric);
  candidate.fits = !request.fabric.gpu_gb || candidate.memory.known_bytes <= *request.fabric.gpu_gb * 1e9;
  return candidate;
}

Result<std::vector<Split>> possible_splits(const Request& request) {
  std::vector<Split> splits;
  Status first_refusal;
  const int pp = request.pp.value_or(1);
  bool has_product = false;
  for (const int tp : request.tp ? std::vector{*request.tp} : divisors(request.ranks)) {
    if (!request.tp && tp > request.fabric.gpus_per_host) break;
    for (const int cp : request.cp ? std::vector{*request.cp} : divisors(request.ranks)) {
      const std::int64_t rest = std::int64_t{tp} * cp * pp;
      if (rest < 1 || request.ranks % rest != 0) continue;
      const Split split{tp, cp, pp, static_cast<int>(request.ranks / rest)};
      if (request.dp && split.dp != *request.dp) continue;
      has_product = true;
      const Status status = check_split(request.shape, request.work, split);
      if (status.is_ok())
        splits.push_back(split);
      else if (first_refusal.is_ok())
        first_refusal = status;
    }
  }
  if (!has_product) return wrong_product(request);
  if (splits.empty()) return first_refusal;
  return splits;
}

Result<Choice> choose(const Request& request) {
  RINGCOMM_TRY(check_work(request.work));
  RINGCOMM_TRY_ASSIGN(const std::vector<Split> splits, possible_splits(request));
  Choice choice{.splits = static_cast<int>(splits.size())};
  std::map<int, Candidate> by_cp;
  std::string refused;
  for (const Split& split : splits) {
    for (const Strategy strategy : kStrategies) {
      if (request.strategy && strategy != *request.strategy) continue;
      Candidate candidate = judge(request, split, strategy);
      if (!candidate.refused.empty()) {
        refused = concat(name_of(strategy), ": ", candidate.refused);
        continue;
      }
      const auto [place, is_new] = by_cp.try_emplace(split.cp, candidate);
      if (!is_new && order_of(request, candidate) < order_of(request, place->second))
        place->second = std::move(candidate);
    }
  }
  if (by_cp.empty()) return Status::invalid_argument(refused);
  for (auto& [cp, candidate] : by_cp) choice.by_cp.push_back(candidate);
  const Candidate* best = &choice.by_cp.front();
  for (std::size_t i = 0; i < choice.by_cp.size(); ++i) {
    const Candidate& candidate = choice.by_cp[i];
    if (order_of(request, candidate) < order_of(request, *best)) best = &candidate;
    if (candidate.memory.known_bytes < choice.by_cp[choice.least_memory].memory.known_bytes)
      choice.least_memory = i;
  }
  choice.best = *best;
  for (const Strategy strategy : kStrategies)
    choice.strategies.push_back(judge(request, best->split, strategy));
  choice.reason = reason_of(request, choice);
  return choice;
}

}  // namespace ringcomm::planner
