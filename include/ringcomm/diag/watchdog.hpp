// SPDX-License-Identifier: Apache-2.0
// What a communicator says when an operation's deadline expires: one verdict for all ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"
#include "ringcomm/diag/verdict.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

/// The records of one job in the folders of this user on this host.
std::vector<std::filesystem::path> records_of_job(std::uint64_t job);
/// Records as evidence, with what /proc says of their processes (gone, stopped, blocked, running).
HangEvidence read_live_records(std::span<const std::filesystem::path> records);

struct WatchdogReport {
  bool is_first = false;  ///< this call won the right to print: one of all ranks of the job on this host does
  Verdict verdict{};
  std::string text{};                          ///< what to print, one screen; empty unless is_first
  std::vector<std::filesystem::path> files{};  ///< records and the verdict, for ringcomm-doctor hang
};
/// Reads the heads of all ranks of this host twice, `apart` from one another, so that a slow rank is told
/// from a stuck one, and explains them. Any thread of any rank. Takes `apart` and some milliseconds. Who is
/// not the first waits for that one, at most `patience`, because its peers are told only then; later its
/// report has no verdict.
WatchdogReport report_hang(std::uint64_t job,
                           std::chrono::milliseconds apart = std::chrono::milliseconds(100),
                           std::chrono::milliseconds patience = std::chrono::milliseconds(250));

/// A verdict for a terminal of `columns` columns: culprit, what is stuck, kind, why with the lines quoted,
/// fix, what to collect, victims, what was not read. At most one screen (50 lines) unless `is_verbose`.
std::string to_text(const Verdict& verdict, const HangEvidence& evidence, std::size_t columns = 100,
                    bool is_verbose = false);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
