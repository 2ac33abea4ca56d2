// SPDX-License-Identifier: Apache-2.0
// Ranks of a test as threads of one process, joined within a bound.
#pragma once

#include <chrono>
#include <functional>

#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::testing_support {

/// Runs `body` once per rank on its own thread with its handle of one group, and joins. A rank that has not
/// returned after `limit` ends the whole test program (a thread cannot be killed): it prints which ranks
/// hang.
void run_rank_threads(int ranks, const std::function<void(Bootstrap&)>& body,
                      std::chrono::seconds limit = std::chrono::seconds(90));

}  // namespace ringcomm::testing_support
