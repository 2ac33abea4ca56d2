// SPDX-License-Identifier: Apache-2.0
// Lines for a person on standard error: RINGCOMM_DEBUG=warn (default), info, trace, or off.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class LogLevel : std::uint8_t { off = 0, warn = 1, info = 2, trace = 3 };

/// Read from the environment at the first call of the process.
LogLevel log_level();
/// One whole line per call ("ringcomm warn: ..."), written with a single write(2), safe from any thread; line
/// ends within `message` become spaces. Never throws.
void log(LogLevel level, std::string_view message);
/// Replaces standard error; an empty function restores it. For tests and for trainers with their own log.
/// Lines above log_level() do not reach it. It is called without a lock, and by calls already under way even
/// after it was replaced.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
