// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/reader.hpp"

namespace ringcomm::inline v0::diag {

Status read_text(const RawFile& /*file*/, HangEvidence& /*evidence*/) {
  return Status::not_found("no line of a known format");
}

}  // namespace ringcomm::inline v0::diag
