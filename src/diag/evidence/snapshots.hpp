// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

/// Files that show one thing at several times: RAS reports of a job, dumps of a rank. Neither is dated alike,
/// but counters only grow, so the sum of them orders the files; equal ones stay in the order of their names.
/// The facts of the second file get snapshot 1, and so on.
void number_snapshots(HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
