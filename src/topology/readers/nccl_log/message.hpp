// SPDX-License-Identifier: Apache-2.0
// Finds the messages in the lines of a log. Ranks share one pipe, so a line may hold pieces of several.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ringcomm/topology/pci.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

struct Message {
  std::string_view host{};      ///< empty: not written, or torn off
  std::string_view writer{};    ///< "node01:1963:2074 [2]": one thread of one rank
  std::optional<int> device{};  ///< the number in brackets
  bool is_warning = false;
  bool is_torn = false;     ///< another message begins where this one should go on
  std::string_view text{};  ///< behind "NCCL INFO ", with its indentation
  int line = 0;
};

/// Calls `visit` for every message; returns how many lines hold none (blank lines are not counted).
int for_each_message(std::string_view text, const std::function<void(const Message&)>& visit);

}  // namespace ringcomm::inline v0::topology::nccl_log
