// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "diag/explain/groups/rules.hpp"

namespace ringcomm::inline v0::diag {

std::span<const Rule> group_rules() {
  static constexpr std::array<Rule, 7> kRules{&signatures_rule, &splits_rule,   &waits_rule,  &calls_rule,
                                              &counts_rule,     &creation_rule, &records_rule};
  return kRules;
}

}  // namespace ringcomm::inline v0::diag
