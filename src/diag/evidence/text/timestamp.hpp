// SPDX-License-Identifier: Apache-2.0
// Times as logs print them: with year, with month and day only, or only the time of day.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag::text {

/// Three scales that cannot be mistaken for one another: below one day the time of day; below 400 days the
/// day of a year that nobody wrote (January 1 is day 1); else nanoseconds since 1970.
inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kDayNs = 86'400 * kSecondNs;
inline constexpr std::int64_t kYearScaleNs = 400 * kDayNs;

/// Removes a time at the beginning of `text`, brackets around it included: "2026-01-19T13:06:53.123Z",
/// "[2025-01-14 16:14:58,563]", "18:02:58.114", "[Mon May 18 03:14:07 2026]", "May 18 03:14:07".
std::optional<std::int64_t> take_time(std::string_view& text);
/// The time of a glog header, which stays: "[E0312 01:45:40.183 ", "E816 01:45:40.1 ", "W703 ...".
std::optional<std::int64_t> glog_time(std::string_view text);
/// The first "hh:mm:ss" with an optional fraction anywhere in the text.
std::optional<std::int64_t> find_time_of_day(std::string_view text);
std::int64_t days_since_1970(int year, int month, int day);

/// A date learnt from other lines of the same file, for times that lack it.
class Dates {
 public:
  void learn(std::int64_t time_ns);
  /// On the most complete scale that the file gives.
  std::int64_t completed(std::int64_t time_ns) const;

 private:
  std::optional<std::int64_t> day_of_year_ns_{};  ///< 00:00 of the first dated line without a year
  std::optional<std::int64_t> day_ns_{};          ///< 00:00 of the first line with a year
  std::int64_t year_begin_ns_ = 0;
  bool is_leap_ = false;
};

/// Times of all files that lack a year or a date get those of the first file that has them.
void align_times(HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag::text
