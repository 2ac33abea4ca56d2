// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/foreign_env.hpp"

#include <algorithm>
#include <cstdlib>

namespace ringcomm::inline v0::bootstrap {

std::optional<std::string> foreign_text(std::string_view name) {
  const auto at = std::ranges::find(kForeignVariables, name);
  if (at == kForeignVariables.end()) return std::nullopt;
  const char* const value = std::getenv(at->data());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace ringcomm::inline v0::bootstrap
