// SPDX-License-Identifier: Apache-2.0
// The flight recorder's dump as JSON text.
#pragma once

#include "diag/evidence/reader.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_fr_json(const RawFile& file);
Status read_fr_json(const RawFile& file, HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
