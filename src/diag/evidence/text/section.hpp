// SPDX-License-Identifier: Apache-2.0
// Ranks that names of files tell, for lines that tell none.
#pragma once

#include <string_view>

namespace ringcomm::inline v0::diag::text {

/// "rank_118.log", "pyspy_rank0.txt", "job.rank=3.out"; kUnknown for names without the word.
int rank_of_log_name(std::string_view path);
/// Also "pyspy_3.txt", "stack.4": for files that hold stacks only.
int rank_of_stack_name(std::string_view path);

}  // namespace ringcomm::inline v0::diag::text
