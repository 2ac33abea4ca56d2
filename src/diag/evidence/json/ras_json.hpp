// SPDX-License-Identifier: Apache-2.0
// NCCL's RAS report in JSON (ncclras -f json, NCCL 2.28.7 and later).
#pragma once

#include "diag/evidence/reader.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_ras_json(const RawFile& file);
/// Each document is a snapshot; dumps in JSON and other lines in the same text are read too.
Status read_ras_json(const RawFile& file, HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
