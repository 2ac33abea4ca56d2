// SPDX-License-Identifier: Apache-2.0
// Python exceptions: tracebacks of several ranks, line by line through one pipe, and last lines alone.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

/// "torch.distributed.DistBackendError: ..." -> the type; empty where the line is no exception's last.
std::string_view exception_type(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() &&
         (is_letter(text[size]) || is_digit(text[size]) || text[size] == '_' || text[size] == '.'))
    ++size;
  const std::string_view type = text.substr(0, size);
  const bool is_end = size == text.size() || text[size] == ':';
  if (!is_end || type.size() < 5 || type.size() > 120 || !is_letter(type.front())) return {};
  const std::string_view name = type.substr(type.rfind('.') + 1);
  constexpr std::array<std::string_view, 7> kEnds{"Error",   "Exception", "Interrupt", "Exit",
                                                  "Warning", "Iteration", "Failure"};
  const bool is_known = std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
  if (!is_known || name.ends_with("Warning") || name.front() < 'A' || name.front() > 'Z') return {};
  return type;
}

/// Whether the exception only tells that communication with others failed: a consequence, as a rule.
bool is_about_communication(std::string_view type, std::string_view text) {
  constexpr std::array<std::string_view, 5> kTypes{"DistBackendError", "DistNetworkError", "DistStoreError",
                                                   "ConnectionResetError", "BrokenPipeError"};
  if (std::ranges::any_of(kTypes, [&](std::string_view word) { return contains(type, word); })) return true;
  constexpr std::array<std::string_view, 14> kWords{"nccl",
                                                    "gloo",
                                                    "connection closed by",
                                                    "connection reset",
                                                    "socket timeout",
                                                    "timed out waiting",
                                                    "process group",
                                                    "store->get",
                                                    "broken pipe",
                                                    "watchdog",
                                                    "wait timeout",
                                                    "collectives on ranks",
                                                    "connection refused",
                                                    "sigterm"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return contains_ignoring_case(text, word); });
}

class TracebackReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    const std::string writer =
        concat(line.who.rank, '|', line.who.pid, '|', line.who.host, '|', line.who.name);
    if (text.starts_with("Traceback (most recent call last)")) {
      if (open_.size() < kWritersMax) open_[writer] = true;
      facts.format("traceback");
      return true;
    }
    if (text.starts_with("Fatal Python error:")) return read_fatal(text, facts);
    if (text.starts_with("During handling of the above exception") ||
        text.starts_with("The above exception was the"))
      return true;
    const auto open = open_.find(writer);
    const std::string_view type = exception_type(text);
    if (open != open_.end() && type.empty()) {
      const bool is_indented =
          is_blank(line.text.front()) || text.starts_with("File \"") || text.starts_with('^');
      if (is_indented) return true;
      open_.erase(open);
      return false;
    }
    if (type.empty()) return false;
    if (open != open_.end()) open_.erase(open);
    tell(type, text, facts);
    return true;
  }

 private:
  static void tell(std::string_view type, std::string_view text, Facts& facts) {
    EventFact event;
    event.kind = EventKind::exception;
    event.detail = type;
    event.text = text.substr(0, kTextMax);
    event.code = is_about_communication(type, text) ? 1 : 0;
    facts.add(event);
    facts.format("traceback");
    // The same line also tells what the machine ran out of or broke.
    if (contains(type, "OutOfMemoryError") || contains(text, "CUDA out of memory")) {
      facts.event(EventKind::cuda_oom, "CUDA out of memory");
    } else if (const auto error = after(text, "CUDA error: ")) {
      const bool is_ecc = contains_ignoring_case(*error, "ecc");
      facts.event(is_ecc ? EventKind::ecc_error : EventKind::cuda_error, error->substr(0, 80));
    }
  }

  /// "Fatal Python error: Segmentation fault", followed by faulthandler's stacks.
  static bool read_fatal(std::string_view text, Facts& facts) {
    const bool is_segfault = contains(text, "Segmentation fault") || contains(text, "Bus error");
    facts.event(is_segfault ? EventKind::segfault : EventKind::exception,
                trimmed(text.substr(19)).substr(0, 80));
    facts.format("faulthandler");
    return true;
  }

  std::map<std::string, bool> open_{};  ///< writers in the middle of a traceback
};

}  // namespace

std::unique_ptr<LineReader> make_traceback_reader() { return std::make_unique<TracebackReader>(); }

}  // namespace ringcomm::inline v0::diag::text
