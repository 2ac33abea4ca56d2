// SPDX-License-Identifier: Apache-2.0
// The flight recorder's usual file: a pickle of plain values.
#pragma once

#include "diag/evidence/reader.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_pickle(const RawFile& file);
Status read_fr_pickle(const RawFile& file, HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
