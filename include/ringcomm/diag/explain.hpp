// SPDX-License-Identifier: Apache-2.0
// From facts to one verdict (spec: docs/diagnosis.md, "How the answer is found").
#pragma once

#include "ringcomm/diag/hang_evidence.hpp"
#include "ringcomm/diag/verdict.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

/// Never fails and never throws on any evidence; empty evidence gives insufficient_evidence. Deterministic;
/// does not depend on the order of files. Cost: linear in facts and in edges of the wait-for graph.
Verdict explain(const HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
