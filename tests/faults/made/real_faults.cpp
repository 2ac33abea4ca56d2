// SPDX-License-Identifier: Apache-2.0
// Makes every fault for real and prints how many verdicts were right. Usage: real_faults [--seeds N]
// [--fault NAME] [--medium threads|processes] [--verbose], or --kills N; exit code 1 when one was wrong or
// late.
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "faults/made/fault_case.hpp"
#include "faults/made/killed_records.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::test {
namespace {

struct Wanted {
  std::uint64_t seeds = 20, kills = 0;
  std::string fault{}, medium{};
  bool is_verbose = false;
};

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += concat(text.empty() ? "" : ",", name);
  return concat("[", text, "]");
}

bool run_all(const FaultCase& fault, Medium medium, const Wanted& wanted) {
  std::uint64_t kinds = 0, culprits = 0;
  std::int64_t slowest = -1'000'000;
  std::string wrong;
  for (std::uint64_t seed = 0; seed < wanted.seeds; ++seed) {
    const FaultSite site = draw_site(fault, seed);
    const FaultRun run = run_fault(fault, medium, site);
    kinds += run.is_right_kind ? 1 : 0;
    culprits += run.is_right_culprit ? 1 : 0;
    slowest = std::max(slowest, run.late_ms);
    if ((run.is_right_kind && run.is_right_culprit) && !wanted.is_verbose) continue;
    wrong += concat("    seed ", seed, ", ", site.ranks, " ranks, culprit ", site.culprit, ": ",
                    diag::name_of(run.verdict.kind), " culprits ", list_text(run.verdict.culprits),
                    " suspects ", list_text(run.verdict.suspects), ": ", run.verdict.title, "\n", run.said);
  }
  constexpr std::int64_t kLateMs = 2000;
  const bool is_right = kinds == wanted.seeds && culprits == wanted.seeds && slowest < kLateMs;
  std::printf("%-20s %-10s %-20s kind %2lu/%lu  culprit %2lu/%lu  slowest %5ld ms after the deadline%s\n",
              std::string(fault.name).c_str(), name_of(medium).c_str(),
              std::string(diag::name_of(fault.kind)).c_str(), kinds, wanted.seeds, culprits, wanted.seeds,
              static_cast<long>(slowest), is_right ? "" : "  WRONG");
  std::printf("%s", wrong.c_str());
  std::fflush(stdout);
  return is_right;
}

bool run_kills(std::uint64_t kills) {
  std::uint64_t right = 0;
  std::int64_t compared = 0;
  for (std::uint64_t seed = 0; seed < kills; ++seed) {
    const KilledRun run = kill_one(seed);
    compared += run.states_compared;
    if (run.was_read && run.differences.empty())
      ++right;
    else
      std::printf("  kill %lu: %s%s\n", seed, run.was_read ? "" : "the record was not read; ",
                  run.differences.c_str());
  }
  std::printf(
      "%lu of %lu records of a killed rank end within one state of what its peers saw; %ld states compared\n",
      right, kills, static_cast<long>(compared));
  return right == kills;
}

bool run_wanted(const Wanted& wanted) {
  if (wanted.kills > 0) return run_kills(wanted.kills);
  bool is_right = true;
  int count = 0;
  for (const FaultCase& fault : fault_cases()) {
    if (!wanted.fault.empty() && fault.name != wanted.fault) continue;
    for (const Medium medium : {Medium::processes, Medium::threads}) {
      if (!(medium == Medium::threads ? fault.has_threads : fault.has_processes)) continue;
      if (!wanted.medium.empty() && name_of(medium) != wanted.medium) continue;
      is_right = run_all(fault, medium, wanted) && is_right;
      ++count;
    }
  }
  if (count == 0) std::printf("no such fault\n");
  return is_right && count > 0;
}

}  // namespace
}  // namespace ringcomm::test

int main(int argc, char** argv) {
  ringcomm::test::Wanted wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--verbose")
      wanted.is_verbose = true;
    else if (word == "--seeds" && i + 1 < argc)
      wanted.seeds = std::strtoul(argv[++i], nullptr, 10);
    else if (word == "--kills" && i + 1 < argc)
      wanted.kills = std::strtoul(argv[++i], nullptr, 10);
    else if (word == "--fault" && i + 1 < argc)
      wanted.fault = argv[++i];
    else if (word == "--medium" && i + 1 < argc)
      wanted.medium = argv[++i];
    else
      return 64;
  }
  ::setenv("RINGCOMM_WATCHDOG", "0", 1);  // this program prints the verdicts itself
  return ringcomm::test::run_wanted(wanted) ? 0 : 1;
}
