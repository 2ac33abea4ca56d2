// SPDX-License-Identifier: Apache-2.0
// The table of rules on side evidence. Each adds candidates; explain() takes the heaviest.
#include <array>

#include "diag/explain/events/side.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::array<SideRule, 17> kSideRules{
    explain_deaths,          explain_ras_absences, explain_exceptions, explain_pauses,
    explain_stragglers,      explain_teardown,     explain_gloo,       explain_binding,
    explain_versions,        explain_limits,       explain_set_up,     explain_devices,
    explain_peer_access,     explain_network,      explain_stacks,     explain_wiring,
    explain_record_failures,
};

void explain_side_evidence(const HangEvidence& evidence, const JobPicture& picture,
                           std::vector<Candidate>& out) {
  const SideEvidence side(evidence, picture);
  for (const SideRule rule : kSideRules) rule(side, out);
}

constexpr std::array<Rule, 1> kEventRules{explain_side_evidence};

}  // namespace

std::span<const Rule> event_rules() { return kEventRules; }

}  // namespace ringcomm::inline v0::diag
