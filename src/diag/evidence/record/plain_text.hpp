// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringcomm::inline v0::diag {

/// `text` for a terminal and for JSON: control characters and bytes that are no UTF-8 become '?'.
std::string plain_text(std::string_view text);

}  // namespace ringcomm::inline v0::diag
