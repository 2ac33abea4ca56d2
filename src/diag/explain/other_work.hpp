// SPDX-License-Identifier: Apache-2.0
// What a program's line that names no rank can tell of the one rank that is silent.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

/// It tells of other work than the loop that all ranks are in. Bars and steps of that loop are mostly the
/// main process', which waits like the others.
inline bool is_other_work(const EventFact& event) {
  constexpr std::array<std::string_view, 10> kOfTheLoop{
      "progress bar", "train", "epoch", "step", "iter", "loss", "batch", "barrier", "graph", "heartbeat"};
  std::string detail = event.detail;
  std::transform(detail.begin(), detail.end(), detail.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto begins = [&detail](std::string_view word) { return detail.starts_with(word); };
  return !detail.empty() && std::none_of(kOfTheLoop.begin(), kOfTheLoop.end(), begins);
}

}  // namespace ringcomm::inline v0::diag
