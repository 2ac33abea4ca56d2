// SPDX-License-Identifier: Apache-2.0
// The part of JSON Schema draft 07 that docs/perf-schema.json uses.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringcomm::test {

/// One sentence per violation, with its place: type (a word or a list), enum, minimum, pattern, required,
/// properties, additionalProperties false, items, $ref to "#/definitions/NAME". A keyword that it does not
/// know is a violation of the schema itself, so that none is skipped in silence.
std::vector<std::string> violations(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace ringcomm::test
