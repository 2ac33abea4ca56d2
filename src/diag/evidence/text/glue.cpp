// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/glue.hpp"

#include <algorithm>
#include <vector>

#include "diag/evidence/text/line.hpp"
#include "diag/evidence/text/scan.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::size_t kUnfinishedMax = 4096;
constexpr std::size_t kHeaderMax = 320;  ///< bytes of "host:pid:tid [dev] file.cc:12 "

/// "[rank3]:", "[E0312 01:", "[E ProcessGroup", "[1,3]<stdout>:".
bool begins_message(std::string_view at) {
  std::string_view rest = at.substr(1, 24);
  if (take(rest, "rank")) return take_number(rest) && rest.starts_with("]:");
  if (rest.size() > 8 && contains("EWIF", rest.substr(0, 1))) {
    rest.remove_prefix(1);
    if (rest.starts_with(" ProcessGroup")) return true;
    const auto date = is_digit(rest.front()) ? take_number(rest) : std::nullopt;
    return date && *date >= 101 && *date <= 1231 && rest.size() > 3 && rest[0] == ' ' && is_digit(rest[1]) &&
           rest[3] == ':';
  }
  rest = at.substr(1, 24);
  if (!take_number(rest) || !take(rest, ",") || !take_number(rest)) return false;
  return rest.starts_with("]<std");
}

/// Where "host:pid:tid [dev] file.cc:12 " in front of an NCCL marker begins; the marker where there is none.
std::size_t begin_of_nccl(std::string_view line, std::size_t marker) {
  const std::size_t first = marker > kHeaderMax ? marker - kHeaderMax : 0;
  const std::size_t bracket = line.substr(0, marker).rfind('[');
  if (bracket == std::string_view::npos || bracket <= first) return marker;
  std::size_t at = bracket;
  while (at > first && is_blank(line[at - 1])) --at;
  const std::size_t end = at;
  while (at > first && !is_blank(line[at - 1]) && line[at - 1] != ']' && line[at - 1] != ')') --at;
  const std::string_view token = line.substr(at, end - at);
  return std::ranges::count(token, ':') >= 2 ? at : marker;
}

/// Prefixes alone, which belong to the message behind them.
bool is_only_prefix(std::string_view text) {
  PrefixStripper stripper;
  std::string_view rest = trimmed(stripper.strip(text).text);
  if (rest.starts_with('[') && rest.ends_with(']') && rest.size() < 16) return true;  // "[80740]"
  return rest.empty();
}

}  // namespace

void for_each_message(std::string_view line, const std::function<void(std::string_view)>& visit) {
  std::size_t begin = 0;
  const auto cut = [&](std::size_t at) {
    if (at <= begin || (at - begin < kHeaderMax && is_only_prefix(line.substr(begin, at - begin)))) return;
    visit(line.substr(begin, at - begin));
    begin = at;
  };
  std::size_t nccl = line.find(" NCCL ");
  for (std::size_t at = line.find('[', 1); at != std::string_view::npos && at + 8 < line.size();
       at = line.find('[', at + 1)) {
    while (nccl != std::string_view::npos && nccl < at) {
      const std::string_view kind = line.substr(nccl + 6, 5);
      if (kind == "INFO " || kind == "WARN ") cut(begin_of_nccl(line, nccl));
      nccl = line.find(" NCCL ", nccl + 6);
    }
    if (begins_message(line.substr(at))) cut(at);
  }
  while (nccl != std::string_view::npos) {
    const std::string_view kind = line.substr(nccl + 6, 5);
    if (kind == "INFO " || kind == "WARN ") cut(begin_of_nccl(line, nccl));
    nccl = line.find(" NCCL ", nccl + 6);
  }
  visit(line.substr(begin));
}

bool is_unfinished(std::string_view message) {
  if (message.size() > kUnfinishedMax) return false;
  if (const auto fingerprint = after(message, "CollectiveFingerPrint(")) {
    const auto second = after(*fingerprint, "CollectiveFingerPrint(");
    return contains(message, "mismatch between collectives") && (!second || !contains(*second, ")"));
  }
  if (contains(message, "WorkNCCL(") || contains(message, "atchdog caught collective"))
    return !contains(message, "milliseconds") && !contains(message, "exception:");
  if (contains(message, "detected by watchdog") || contains(message, "Timeout at NCCL work")) {
    const auto completed = after(message, "last completed");
    return !completed || completed->find_first_of("0123456789") == std::string_view::npos;
  }
  return contains(message, "NCCL INFO") && contains(message, "opCount") && !contains(message, " stream");
}

bool is_continuation(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.empty() || text.starts_with("Traceback") || contains(text, "NCCL INFO") ||
      contains(text, "NCCL WARN"))
    return false;
  PrefixStripper stripper;
  const Line stripped = stripper.strip(text);
  return stripped.text.size() == text.size() && !stripped.time_ns &&
         !contains(text.substr(0, 80), "ProcessGroup");
}

}  // namespace ringcomm::inline v0::diag::text
