// SPDX-License-Identifier: Apache-2.0
// Starts the library's own threads alike: named, bound, deaf to the process's signals.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0 {

/// Returns when the thread is bound. not_available if the system gives no thread or refuses the placement.
/// `name` shows in ps and gdb (15 characters). All signals are blocked in it, so that a trainer's handlers
/// run on the trainer's threads.
Result<std::thread> start_thread(const std::string& name, const Placement& placement,
                                 std::function<void()> body);

}  // namespace ringcomm::inline v0
