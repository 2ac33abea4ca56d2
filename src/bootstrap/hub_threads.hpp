// SPDX-License-Identifier: Apache-2.0
// The short-lived threads in which hubs run: at most one per meeting that this process serves.
#pragma once

#include <memory>

#include "bootstrap/hub.hpp"

namespace ringcomm::inline v0::bootstrap {

/// Starts it; the thread is joined once the hub has ended, at the latest when the process exits.
Status start_hub(std::shared_ptr<Hub> hub);
/// The running hub of this process with that secret, or none.
std::shared_ptr<Hub> find_hub(const Secret& secret);
/// For a rank that lives with the hub and may end its process next: waits, at most two seconds, until the
/// other ranks' answers are out; then joins the threads of hubs that have ended.
void finish(const std::shared_ptr<Hub>& hub);

}  // namespace ringcomm::inline v0::bootstrap
