// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/explain.hpp"

#include <algorithm>
#include <utility>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

Verdict explain(const HangEvidence& evidence) {
  const JobPicture picture = picture_of(evidence);
  std::vector<Candidate> candidates;
  for (const Rule rule : group_rules()) rule(evidence, picture, candidates);
  for (const Rule rule : event_rules()) rule(evidence, picture, candidates);
  Verdict verdict;
  const auto best =
      std::max_element(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.weight < b.weight; });
  if (best != candidates.end()) verdict = std::move(best->verdict);
  if (verdict.fix.empty()) verdict.fix = fix_of(verdict.kind);
  if (verdict.collect.empty()) verdict.collect = collect_for(verdict.kind);
  return verdict;
}

}  // namespace ringcomm::inline v0::diag
