// SPDX-License-Identifier: Apache-2.0
// Schedule files of ringcomm-plan under libFuzzer: refused, or proved, or refuted with lines.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "call_file.hpp"
#include "fuzz/machine_promises.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcomm;
  const auto schedule =
      planner::read_call_file(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  if (!schedule.is_ok()) return 0;
  std::size_t calls = 0;
  for (const auto& of_rank : schedule->calls) calls += of_rank.size();
  fuzz::promise(calls <= plan::kScheduleCallsMax, "calls are bounded");
  if (calls > 4096 || schedule->calls.size() > 512) return 0;  // linear, but slow under sanitizers
  for (const bool is_one_stream : {false, true}) {
    const auto report = plan::check_schedule(schedule.value(), is_one_stream);
    if (!report.is_ok()) continue;
    const bool is_safe = report->fault == plan::ScheduleFault::none;
    fuzz::promise(!report->sentence.empty(), "every answer has a sentence");
    fuzz::promise(is_safe == report->lines.empty(), "a fault, and no other answer, has lines");
    fuzz::promise(is_safe == report->fix.empty(), "a fault has a fix");
    for (const auto& line : report->lines)
      fuzz::promise(line.rank >= 0 && static_cast<std::size_t>(line.rank) < schedule->calls.size(),
                    "lines name ranks of the job");
  }
  return 0;
}
