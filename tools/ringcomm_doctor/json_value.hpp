// SPDX-License-Identifier: Apache-2.0
// Values of the report as JSON: an absent one is null.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::doctor {

using Json = nlohmann::ordered_json;

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json json_of(const std::optional<PciBusId>& bus) { return bus ? Json(bus->to_text()) : Json(nullptr); }
/// An empty text is an unknown one.
inline Json json_of(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
inline Json json_of(const Where& where) {
  return {{"file", json_of(where.file)}, {"line", where.line > 0 ? Json(where.line) : Json(nullptr)}};
}

Json machine_json(const Machine& machine);

}  // namespace ringcomm::doctor
