// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/readers.hpp"

namespace ringcomm::inline v0::diag::text {

std::vector<std::unique_ptr<LineReader>> line_readers() {
  std::vector<std::unique_ptr<LineReader>> readers;
  readers.push_back(make_heading_reader());
  readers.push_back(make_nccl_reader());
  // Before the watchdog's: a monitored barrier is told by a process group too.
  readers.push_back(make_fingerprint_reader());
  readers.push_back(make_watchdog_reader());
  readers.push_back(make_ras_reader());
  readers.push_back(make_kernel_reader());
  readers.push_back(make_gloo_reader());
  readers.push_back(make_launcher_reader());
  readers.push_back(make_stack_reader());
  readers.push_back(make_traceback_reader());
  readers.push_back(make_test_program_reader());
  readers.push_back(make_progress_reader());
  return readers;
}

}  // namespace ringcomm::inline v0::diag::text
