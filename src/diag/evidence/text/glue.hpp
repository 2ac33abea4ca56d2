// SPDX-License-Identifier: Apache-2.0
// Ranks share one pipe and people copy from terminals: a line may hold several messages, and a message
// several lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ringcomm::inline v0::diag::text {

/// Calls `visit` for each message of a line, in order.
void for_each_message(std::string_view line, const std::function<void(std::string_view)>& visit);

/// A message that was cut where its line ended: the next line may be the rest of it.
bool is_unfinished(std::string_view message);
/// Whether a line may be the rest of one: it does not begin a message of its own.
bool is_continuation(std::string_view line);

}  // namespace ringcomm::inline v0::diag::text
