// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/rules.hpp"

namespace ringcomm::inline v0::diag {

void records_rule(const HangEvidence&, const JobPicture&, std::vector<Candidate>&) {}

}  // namespace ringcomm::inline v0::diag
