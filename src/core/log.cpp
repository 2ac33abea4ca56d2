// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/log.hpp"

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <unistd.h>

#include "core/words.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

using Sink = std::function<void(LogLevel, std::string_view)>;

struct SinkSlot {
  std::mutex mutex;
  std::shared_ptr<const Sink> sink;
};

// Never destroyed: threads may still log while static objects go away at exit.
SinkSlot& sink_slot() {
  static auto* slot = new SinkSlot;
  return *slot;
}

std::shared_ptr<const Sink> current_sink() {
  const std::lock_guard lock(sink_slot().mutex);
  return sink_slot().sink;
}

void write_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A message with line ends would let one call forge several lines.
std::string line_of(LogLevel level, std::string_view message) {
  std::string line = concat("ringcomm ", kLogLevelWords[static_cast<std::size_t>(level)], ": ", message);
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\0') c = ' ';
  }
  return line + '\n';
}

LogLevel level_from_environment() {
  const auto level = env_choice("RINGCOMM_DEBUG", kLogLevelWords);
  if (level.is_ok()) return static_cast<LogLevel>(level.value());
  write_line(line_of(LogLevel::warn, concat(level.status().message(), " Using warn.")));
  return LogLevel::warn;
}

}  // namespace

LogLevel log_level() {
  static const LogLevel level = level_from_environment();
  return level;
}

void log(LogLevel level, std::string_view message) {
  if (level == LogLevel::off || level > log_level()) return;
  try {
    const auto sink = current_sink();
    if (sink) {
      (*sink)(level, message);
    } else {
      write_line(line_of(level, message));
    }
  } catch (...) {  // a sink that throws, or no memory for the line: logging must not fail its caller
    write_line("ringcomm warn: a log line was lost (its sink threw, or memory is full)\n");
  }
}

void set_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  auto next = sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(sink_slot().mutex);
  sink_slot().sink.swap(next);
}

}  // namespace ringcomm::inline v0
