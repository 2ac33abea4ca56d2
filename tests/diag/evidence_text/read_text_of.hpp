// SPDX-License-Identifier: Apache-2.0
// Facts of a text, as from standard input or a file of some name.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::diag {

inline HangEvidence evidence_of(std::string_view text, const std::string& name = "paste") {
  return read_hang_evidence(text, name);
}

inline std::vector<EventFact> events_of(const HangEvidence& evidence, EventKind kind) {
  std::vector<EventFact> out;
  for (const EventFact& event : evidence.events) {
    if (event.kind == kind) out.push_back(event);
  }
  return out;
}

inline bool has_format(const HangEvidence& evidence, std::string_view name) {
  const auto& formats = evidence.files.at(0).formats;
  return std::find(formats.begin(), formats.end(), name) != formats.end();
}

}  // namespace ringcomm::diag
