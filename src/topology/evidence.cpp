// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0 {

std::string_view LogEvent::value(std::string_view key) const {
  for (const auto& [name, text] : values) {
    if (name == key) return text;
  }
  return {};
}

}  // namespace ringcomm::inline v0
