// SPDX-License-Identifier: Apache-2.0
// All ranks of a group take the same transport: the first of the list that serves every one of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::comm {

/// What the others hear of a rank whose own set-up failed.
Status could_not_set_up(int rank, StatusCode code, std::string_view reason);

/// Collective over the group, also for a rank whose own set-up has failed: `own` (not ok) then reaches the
/// others, who return it with this rank's number, and nobody waits for a rank that cannot come.
///
/// Errors: not_available lists each transport with the clause that fails and the rank; mismatch when the
/// ranks' lists differ; timeout lists the missing ranks.
Result<std::unique_ptr<Transport>> select_transport(Bootstrap& bootstrap,
                                                    const std::vector<TransportFactory>& factories,
                                                    const Status& own, Deadline deadline);

}  // namespace ringcomm::inline v0::comm
