// SPDX-License-Identifier: Apache-2.0
#include "diag/record/process_facts.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "diag/evidence/record/plain_text.hpp"
#include "diag/record/record_folder.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kCommandBytes = 200;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

ProcessState state_of(char letter) {
  switch (letter) {
    case 'R':
      return ProcessState::running;
    case 'S':
    case 'I':
      return ProcessState::sleeping;
    case 'D':
      return ProcessState::blocked;
    case 'T':
    case 't':
      return ProcessState::stopped;
    case 'Z':
      return ProcessState::zombie;
    case 'X':
      return ProcessState::gone;
    default:
      return ProcessState::unknown;
  }
}

/// Started after the record was made: another process that got the same number.
bool is_another(std::int64_t start_ticks, long ticks_per_second, const RecordHeader& header) {
  const std::int64_t started_ns = start_ticks * (kNsPerSecond / ticks_per_second);
  const std::int64_t made_ns =
      clock_ns(CLOCK_BOOTTIME) - (clock_ns(CLOCK_MONOTONIC) - header.clock_monotonic_ns);
  return started_ns > made_ns + kNsPerSecond;
}

bool is_this_host(const RecordHeader& header) {
  std::string name(sizeof header.host, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return false;
  return std::string_view(name.c_str()) == header.host;
}

}  // namespace

ProcessFacts process_of(const RecordHeader& header, const std::filesystem::path& record) {
  ProcessFacts facts;
  if (!is_this_host(header)) return facts;
  const std::string folder = concat("/proc/", header.pid, '/');
  const std::string stat = read_small_file(folder + "stat", 4096);
  // The name in parentheses may hold anything; what follows the last one does not.
  const std::size_t name_end = stat.rfind(')');
  const auto fields = split(
      name_end == std::string::npos ? std::string_view() : std::string_view(stat).substr(name_end + 1), ' ');
  constexpr std::size_t kState = 0;
  constexpr std::size_t kUserTime = 11;
  constexpr std::size_t kSystemTime = 12;
  constexpr std::size_t kStart = 19;
  const long ticks_per_second = std::max(1L, ::sysconf(_SC_CLK_TCK));
  const bool is_read = fields.size() > kStart;
  if (!is_read || is_another(parse_count(fields[kStart]).value_or(0), ticks_per_second, header)) {
    facts.state = is_written_still(record) ? ProcessState::unknown : ProcessState::gone;
    return facts;
  }
  facts.state = state_of(fields[kState].front());
  const std::int64_t used =
      parse_count(fields[kUserTime]).value_or(0) + parse_count(fields[kSystemTime]).value_or(0);
  facts.cpu_seconds = static_cast<double>(used) / static_cast<double>(ticks_per_second);
  std::string status = read_small_file(folder + "status", 8192);
  std::replace(status.begin(), status.end(), '\t', ' ');
  facts.resident_high_water_bytes =
      static_cast<std::uint64_t>(parse_count(value_after(status, "VmHWM:")).value_or(0)) * 1024;
  std::string command = read_small_file(folder + "cmdline", kCommandBytes);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  facts.command = plain_text(command);
  return facts;
}

}  // namespace ringcomm::inline v0::diag
