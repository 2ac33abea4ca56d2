// SPDX-License-Identifier: Apache-2.0
// Samples on demand, so that perf/compare can take turns between two libraries.
#pragma once

#include "case.hpp"

namespace ringcomm::perf {

/// Reads "go BYTES ITERATIONS" lines from rank 0's standard input and answers each with one line of JSON:
/// {"us": median over iterations of the slowest rank's time, "min_us", "max_us", "wrong", "size", "path"}.
/// Other ranks sleep meanwhile. Ends at "quit" or at the end of the input.
Status serve(Communicator& comm, const Options& options, Case& subject);

}  // namespace ringcomm::perf
