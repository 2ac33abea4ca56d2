// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/finding.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ringcomm::inline v0 {
namespace {

constexpr std::array<std::string_view, 3> kSeverityWords{"info", "warning", "failure"};
constexpr std::array<std::string_view, 3> kStateWords{"ok", "problem", "unknown"};

}  // namespace

std::string_view name_of(Severity severity) { return kSeverityWords[static_cast<std::size_t>(severity)]; }
std::string_view name_of(CheckState state) { return kStateWords[static_cast<std::size_t>(state)]; }

int exit_code_of(const std::vector<Finding>& findings) {
  int code = 0;
  for (const Finding& finding : findings) {
    if (finding.state == CheckState::problem) code = std::max(code, static_cast<int>(finding.severity));
  }
  return code;
}

}  // namespace ringcomm::inline v0
