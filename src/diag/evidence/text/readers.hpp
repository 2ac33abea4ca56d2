// SPDX-License-Identifier: Apache-2.0
// The table of line readers. A new format is a file here and a line in readers.cpp.
#pragma once

#include <memory>
#include <vector>

#include "diag/evidence/text/facts.hpp"

namespace ringcomm::inline v0::diag::text {

std::unique_ptr<LineReader> make_heading_reader();
std::unique_ptr<LineReader> make_nccl_reader();
std::unique_ptr<LineReader> make_watchdog_reader();
std::unique_ptr<LineReader> make_fingerprint_reader();
std::unique_ptr<LineReader> make_ras_reader();
std::unique_ptr<LineReader> make_kernel_reader();
std::unique_ptr<LineReader> make_gloo_reader();
std::unique_ptr<LineReader> make_launcher_reader();
std::unique_ptr<LineReader> make_stack_reader();
std::unique_ptr<LineReader> make_traceback_reader();
std::unique_ptr<LineReader> make_test_program_reader();
std::unique_ptr<LineReader> make_progress_reader();

/// In the order in which they see a line.
std::vector<std::unique_ptr<LineReader>> line_readers();

}  // namespace ringcomm::inline v0::diag::text
