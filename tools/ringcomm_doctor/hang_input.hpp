// SPDX-License-Identifier: Apache-2.0
// What `ringcomm-doctor hang` is given: folders, files, a paste.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::doctor {

/// "-" is standard input. Says on standard error what it is at when that takes longer than two seconds.
diag::HangEvidence read_hang_input(const std::vector<std::string>& paths);

/// Everything of `other` behind everything of `evidence`.
void append(diag::HangEvidence& evidence, diag::HangEvidence other);

}  // namespace ringcomm::doctor
