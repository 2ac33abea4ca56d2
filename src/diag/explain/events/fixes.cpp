// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/picture.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {

std::string fix_of(FaultKind kind) { return std::string(sentence_of(kind)); }
std::vector<std::string> collect_for(FaultKind /*kind*/) { return {}; }

}  // namespace ringcomm::inline v0::diag
