// SPDX-License-Identifier: Apache-2.0
// Host facts as JSON: how they travel between ranks, and how --json shows them.
#pragma once

#include <string>
#include <string_view>

#include "json_value.hpp"
#include "ringcomm/diag/host_checks.hpp"

namespace ringcomm::doctor {

Json host_json(const HostFacts& facts);
/// corrupt_data when a rank sent something else.
Result<HostFacts> parse_host(std::string_view text);

/// Host findings have no devices and no cause.
Json host_finding_json(const Finding& finding);

}  // namespace ringcomm::doctor
