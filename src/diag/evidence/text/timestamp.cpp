// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/timestamp.hpp"

#include <array>

#include "diag/evidence/text/scan.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/// Exactly `count` digits.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool skip(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// ".114", ",563": any number of digits.
std::int64_t fraction(std::string_view& text) {
  if (text.size() < 2 || (text[0] != '.' && text[0] != ',') || !is_digit(text[1])) return 0;
  text.remove_prefix(1);
  std::int64_t value = 0;
  std::int64_t unit = kSecondNs;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    unit /= 10;
    value += (text.front() - '0') * unit;
  }
  return value;
}

std::optional<std::int64_t> time_of_day(std::string_view& text) {
  std::string_view rest = text;
  const auto hour = digits(rest, 2);
  if (!hour || *hour > 23 || !skip(rest, ':')) return std::nullopt;
  const auto minute = digits(rest, 2);
  if (!minute || *minute > 59 || !skip(rest, ':')) return std::nullopt;
  const auto second = digits(rest, 2);
  if (!second || *second > 60) return std::nullopt;
  const std::int64_t ns = (*hour * 3600 + *minute * 60 + *second) * kSecondNs + fraction(rest);
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == ':')) return std::nullopt;
  text = rest;
  return ns;
}

bool is_date(int month, int day) { return month >= 1 && month <= 12 && day >= 1 && day <= 31; }

std::int64_t on_day_of_year(int month, int day, std::int64_t ns) {
  return (days_since_1970(1970, month, day) + 1) * kDayNs + ns;
}

/// "2026-01-19T13:06:53.1Z", "2026/01/19 13:06:53", "2026-04-15_21:17:08"; a zone is dropped.
std::optional<std::int64_t> iso(std::string_view& text) {
  std::string_view rest = text;
  const auto year = digits(rest, 4);
  if (!year || *year < 2000 || *year > 2200 || rest.empty()) return std::nullopt;
  const char dash = rest.front();
  if ((dash != '-' && dash != '/') || !skip(rest, dash)) return std::nullopt;
  const auto month = digits(rest, 2);
  if (!month || !skip(rest, dash)) return std::nullopt;
  const auto day = digits(rest, 2);
  if (!day || !is_date(*month, *day) || rest.empty()) return std::nullopt;
  if (rest.front() != 'T' && rest.front() != ' ' && rest.front() != '_') return std::nullopt;
  rest.remove_prefix(1);
  const auto ns = time_of_day(rest);
  if (!ns) return std::nullopt;
  if (!skip(rest, 'Z') && rest.size() >= 5 && (rest[0] == '+' || rest[0] == '-') && is_digit(rest[1])) {
    rest.remove_prefix(1);
    while (!rest.empty() && (is_digit(rest.front()) || rest.front() == ':')) rest.remove_prefix(1);
  }
  text = rest;
  return days_since_1970(*year, *month, *day) * kDayNs + *ns;
}

/// "Mon May 18 03:14:07 2026", "May 18 03:14:07".
std::optional<std::int64_t> spelt(std::string_view& text) {
  std::string_view rest = text;
  for (const std::string_view weekday : kWeekdays) {
    if (rest.starts_with(weekday)) rest.remove_prefix(3), take(rest, "");
  }
  int month = 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (rest.starts_with(kMonths[i])) month = static_cast<int>(i) + 1;
  }
  if (month == 0) return std::nullopt;
  rest.remove_prefix(3);
  if (rest.empty() || !is_blank(rest.front())) return std::nullopt;
  const auto day = take_number(rest);
  if (!day || *day < 1 || *day > 31 || !skip(rest, ' ')) return std::nullopt;
  const auto ns = time_of_day(rest);
  if (!ns) return std::nullopt;
  std::string_view behind = rest;
  const auto year = take_number(behind);
  text = rest;
  if (!year || *year < 2000 || *year > 2200) return on_day_of_year(month, static_cast<int>(*day), *ns);
  text = behind;
  return days_since_1970(static_cast<int>(*year), month, static_cast<int>(*day)) * kDayNs + *ns;
}

}  // namespace

std::int64_t days_since_1970(int year, int month, int day) {
  // Howard Hinnant's days_from_civil.
  const int y = month <= 2 ? year - 1 : year;
  const int era = y / 400;
  const int of_era = y - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return std::int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

std::optional<std::int64_t> take_time(std::string_view& text) {
  std::string_view rest = text;
  const bool is_bracketed = skip(rest, '[');
  auto ns = iso(rest);
  if (!ns) ns = spelt(rest);
  if (!ns) ns = time_of_day(rest);
  if (!ns || (is_bracketed && !skip(rest, ']'))) return std::nullopt;
  if (!is_bracketed && !rest.empty() && !is_blank(rest.front()) && rest.front() != ':') return std::nullopt;
  take(rest, "");
  text = rest;
  return ns;
}

std::optional<std::int64_t> glog_time(std::string_view text) {
  skip(text, '[');
  if (text.size() < 2 || !contains("IWEFC", text.substr(0, 1))) return std::nullopt;
  text.remove_prefix(1);
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  if (count != 3 && count != 4) return std::nullopt;
  const auto month = digits(text, count - 2);
  const auto day = digits(text, 2);
  if (!month || !day || !is_date(*month, *day) || !skip(text, ' ')) return std::nullopt;
  const auto ns = time_of_day(text);
  return ns ? std::optional(on_day_of_year(*month, *day, *ns)) : std::nullopt;
}

std::optional<std::int64_t> find_time_of_day(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    if (at < 2 || (at > 2 && (is_digit(text[at - 3]) || text[at - 3] == ':'))) continue;
    std::string_view rest = text.substr(at - 2);
    if (const auto ns = time_of_day(rest)) return ns;
  }
  return std::nullopt;
}

void Dates::learn(std::int64_t time_ns) {
  constexpr std::int64_t kYear2000Ns = 10957 * kDayNs;
  if (time_ns >= kYear2000Ns) {
    if (day_ns_) return;
    day_ns_ = time_ns / kDayNs * kDayNs;
    const std::int64_t days = *day_ns_ / kDayNs;
    int year = 1970 + static_cast<int>(days / 366);
    while (days_since_1970(year + 1, 1, 1) <= days) ++year;
    year_begin_ns_ = days_since_1970(year, 1, 1) * kDayNs;
    is_leap_ = days_since_1970(year + 1, 1, 1) - days_since_1970(year, 1, 1) == 366;
  } else if (time_ns >= kDayNs && !day_of_year_ns_) {
    day_of_year_ns_ = time_ns / kDayNs * kDayNs;
  }
}

std::int64_t Dates::completed(std::int64_t time_ns) const {
  if (time_ns < 0 || time_ns >= kYearScaleNs) return time_ns;
  if (time_ns < kDayNs) {
    if (day_ns_) return *day_ns_ + time_ns;
    if (!day_of_year_ns_) return time_ns;
    time_ns += *day_of_year_ns_;
  }
  if (!day_ns_) return time_ns;
  constexpr std::int64_t kFebruaryEnd = 60;  // day 60 of a year without February 29 is March 1
  const std::int64_t leap = is_leap_ && time_ns / kDayNs >= kFebruaryEnd ? kDayNs : 0;
  return year_begin_ns_ + time_ns - kDayNs + leap;
}

void align_times(HangEvidence& evidence) {
  Dates dates;
  for (const EventFact& event : evidence.events) {
    if (event.time_ns) dates.learn(*event.time_ns);
  }
  for (const OpFact& op : evidence.ops) {
    if (op.created_ns) dates.learn(*op.created_ns);
  }
  for (EventFact& event : evidence.events) {
    if (event.time_ns) event.time_ns = dates.completed(*event.time_ns);
  }
  for (OpFact& op : evidence.ops) {
    if (op.created_ns) op.created_ns = dates.completed(*op.created_ns);
  }
}

}  // namespace ringcomm::inline v0::diag::text
