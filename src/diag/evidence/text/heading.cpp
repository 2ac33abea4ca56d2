// SPDX-License-Identifier: Apache-2.0
// Lines that say whose lines follow: "==> rank_3.log <==", "=== rank 3 ===", dshbak's host between dashes.
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "diag/evidence/text/section.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

bool is_mark(char c) { return contains("=-#*<>~_|: \t", std::string_view(&c, 1)); }

class HeadingReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    std::string_view text = trimmed(line.text);
    const bool is_dashes = text.size() >= 8 && text.find_first_not_of('-') == std::string_view::npos;
    if (read_dshbak(text, is_dashes, facts)) return true;
    if (text.starts_with("==> ") && text.ends_with(" <==")) {
      Who who;
      who.rank = rank_of_log_name(text.substr(4, text.size() - 8));
      facts.set_section(std::move(who));
      return true;
    }
    if (text.size() > 120) return false;
    while (!text.empty() && is_mark(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_mark(text.back())) text.remove_suffix(1);
    std::string_view rest = text;
    if (!take(rest, "rank") && !take(rest, "Rank") && !take(rest, "RANK")) return false;
    // "rank      : 0" is a line of torchrun's summary.
    if (rest.starts_with("  ") || rest.starts_with(" :")) return false;
    for (const std::string_view separator : {"_", "#", "=", ":"}) {
      if (take(rest, separator)) break;
    }
    Who who;
    who.rank = small_number(take_number(rest));
    if (who.rank == kUnknown) return false;
    rest = trimmed(rest);
    // "rank 3 (node-1)", "rank 3, pid 77".
    if (const auto pid = number_after(rest, "pid")) who.pid = *pid;
    const bool is_remark = rest.starts_with('(') || rest.starts_with(", pid") || rest.starts_with("pid");
    if (!rest.empty() && !is_remark) return false;
    facts.set_section(std::move(who));
    return true;
  }

 private:
  /// "--------", "node07", "--------".
  bool read_dshbak(std::string_view text, bool is_dashes, Facts& facts) {
    if (is_dashes) {
      const bool is_second = !host_.empty();
      if (is_second) {
        Who who;
        who.host = std::exchange(host_, {});
        facts.set_section(std::move(who));
      }
      is_after_dashes_ = !is_second;
      return is_second;
    }
    host_.clear();
    if (!std::exchange(is_after_dashes_, false)) return false;
    if (text.size() <= 255 && text.find_first_of(" \t()[]{}=\"") == std::string_view::npos) host_ = text;
    return false;
  }

  std::string host_{};
  bool is_after_dashes_ = false;
};

bool is_separator(char c) { return c == '_' || c == '-' || c == '.' || c == '=' || c == ' '; }

}  // namespace

int rank_of_log_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  std::string lower;
  for (const char c : name.substr(0, 300))
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::size_t at = lower.rfind("rank"); at != std::string::npos;
       at = at == 0 ? std::string::npos : lower.rfind("rank", at - 1)) {
    std::string_view rest = std::string_view(lower).substr(at + 4);
    while (!rest.empty() && is_separator(rest.front())) rest.remove_prefix(1);
    if (!rest.empty() && is_digit(rest.front())) return small_number(take_number(rest));
  }
  return kUnknown;
}

int rank_of_stack_name(std::string_view path) {
  if (const int rank = rank_of_log_name(path); rank != kUnknown) return rank;
  std::string_view name = path.substr(path.rfind('/') + 1);
  // The last number that stands alone: "pyspy_3.txt", "stack.4", "dump-7.log"; a node's, a pid or a date is
  // none.
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string_view::npos) return kUnknown;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (begin == 0 || end - begin >= 4) return kUnknown;
  const bool is_alone = is_separator(name[begin - 1]);
  const std::string_view before = name.substr(0, is_alone ? begin - 1 : begin);
  for (const std::string_view word : {"node", "host", "pid", "run", "try", "attempt", "t"}) {
    if (before.ends_with(word) && (is_alone ? word.size() > 1 : true)) return kUnknown;
  }
  for (const std::string_view word :
       {"stack", "pyspy", "py-spy", "py", "dump", "trace", "gdb", "bt", "worker", "proc", "gpu", "r"}) {
    if (before.ends_with(word) ||
        (is_alone && before.find(word) != std::string_view::npos && word.size() > 2))
      return small_number(take_number(name = name.substr(begin)));
  }
  return kUnknown;
}

std::unique_ptr<LineReader> make_heading_reader() { return std::make_unique<HeadingReader>(); }

}  // namespace ringcomm::inline v0::diag::text
