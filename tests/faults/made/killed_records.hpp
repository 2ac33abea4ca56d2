// SPDX-License-Identifier: Apache-2.0
// Whether the record of a rank that was killed says what its peers saw of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::test {

struct KilledRun {
  std::string differences{};  ///< empty: within one state of what the peers saw
  std::int64_t messages_of_the_dead = 0, states_compared = 0;
  bool was_read = false;  ///< the record of the dead rank
};
/// Processes rotate for ever; one is killed after some time; then all records are read.
KilledRun kill_one(std::uint64_t seed);

/// The definition. Of the messages from the dead rank d to a peer p, in the order of (sequence, step):
/// those that p has seen arrive are all in d's record as posted, but for at most the last one; of those from
/// p to d, the ones that p has been given back are in d's record as released, but for at most the last one;
/// and d's record has no arrival that p has not posted. Empty when so, else a line for each pair of ranks.
std::string differences_of(const diag::HangEvidence& evidence, int dead, std::int64_t& compared);

}  // namespace ringcomm::test
