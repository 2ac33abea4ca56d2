// SPDX-License-Identifier: Apache-2.0
// The verdict for programs: docs/hang-schema.json. What is not in the evidence is null, never 0 or "".
#pragma once

#include <string>

#include "ringcomm/diag/hang_evidence.hpp"
#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::doctor {

/// Raised when a key changes its meaning or goes; new keys do not raise it.
inline constexpr int kHangSchema = 1;

std::string hang_json(const diag::Verdict& verdict, const diag::HangEvidence& evidence, int exit_code);

}  // namespace ringcomm::doctor
