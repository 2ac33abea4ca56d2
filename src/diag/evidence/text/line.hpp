// SPDX-License-Identifier: Apache-2.0
// One line of a text, or one message of a line that holds several, with what its prefixes tell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag::text {

struct Line {
  std::string_view text{};   ///< without prefixes; keeps its indentation
  std::string_view whole{};  ///< with them
  Who who{};
  std::optional<std::int64_t> time_ns{};  ///< on one of the scales of timestamp.hpp
  std::string_view launcher{};            ///< "mpi_prefix", "ray_prefix", ...: what the prefix is of
  int number = 0;
};

/// Cuts the prefixes of launchers, containers and loggers off: `[1,2]<stdout>:`, `(Worker pid=7, ip=10.0.0.1)
/// `, `3: `, `[rank3]:`, `[default3]:`, `[trainer22|6]:`, `[pod/name] `, times.
class PrefixStripper {
 public:
  Line strip(std::string_view whole);

 private:
  bool take_one(Line& line);
  bool take_host(Line& line);

  std::set<std::string, std::less<>>
      hosts_;  ///< whose prefix "host: " was seen in front of a known beginning
};

/// Without ANSI escapes; `scratch` holds the copy where one is needed.
std::string_view without_escapes(std::string_view text, std::string& scratch);
/// Without the "[30/1422]" that a terminal's scroll-back leaves at the right edge.
std::string_view without_scroll_mark(std::string_view text);

}  // namespace ringcomm::inline v0::diag::text
