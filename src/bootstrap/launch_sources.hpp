// SPDX-License-Identifier: Apache-2.0
// What each launcher's variables say, one reader per launcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::bootstrap {

/// One launcher's words. `store` is what follows from its variables alone.
struct SourceInfo {
  LaunchInfo info;
  std::string_view rank_variable;
  std::string_view size_variable;
};

/// Nothing when the launcher has not set its rank and size; invalid_argument when they contradict each other.
Result<std::optional<SourceInfo>> read_source(LaunchSource source);

/// The text that keeps the groups of two jobs apart, as secret as the launcher's variables are.
std::string job_secret(LaunchSource source);

}  // namespace ringcomm::inline v0::bootstrap
