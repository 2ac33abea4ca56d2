// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diag/evidence/value_sink.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::diag {

/// Tells the first JSON document of the text, as it is read: no tree is built. An error says where the text
/// stops being JSON; ok where the sink wanted no more. not_available in a build without nlohmann_json.
Status tell_json(std::string_view text, ValueSink& sink);

}  // namespace ringcomm::inline v0::diag
