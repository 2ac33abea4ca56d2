// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

std::span<const Rule> event_rules() { return {}; }

}  // namespace ringcomm::inline v0::diag
