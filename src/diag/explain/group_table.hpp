// SPDX-License-Identifier: Apache-2.0
// How far each rank got in each group, equal ranks in one row.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::inline v0::diag {

/// Lines of at most `columns` columns, the first one a heading; none where no group is known. Without
/// `is_verbose` groups in which nobody waits are one line together.
std::vector<std::string> group_table(const Verdict& verdict, std::size_t columns, bool is_verbose);

}  // namespace ringcomm::inline v0::diag
