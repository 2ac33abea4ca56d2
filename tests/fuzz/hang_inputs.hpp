// SPDX-License-Identifier: Apache-2.0
// Evidence of hangs for libFuzzer and for the replay of the kept corpus: aborts, with one line that says why,
// when a reader or explain() breaks a promise of its header.
#pragma once

#include <string_view>

namespace ringcomm::fuzz {

/// The whole-file reader of that name (diag/evidence/reader.hpp), whether the bytes look like its format or
/// not.
void read_dump(std::string_view name, std::string_view bytes);
/// Parts between lines "====" are the files of one job, each of any format; then the verdict, in words too.
void explain_hang(std::string_view bytes);

}  // namespace ringcomm::fuzz
