// SPDX-License-Identifier: Apache-2.0
// Finds the hub of the group behind a few addresses and ports, others of which may belong to other programs.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/hello.hpp"
#include "bootstrap/tcp_address.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::bootstrap {

struct Reached {
  UniqueFd socket;  ///< non-blocking; the hub knows who we are
  Endpoint where;
};

/// Tries all places at once and again until one has proved that it holds the secret, or the deadline passes:
/// timeout that says what was found at `name`. The secret itself is never sent.
Result<Reached> reach_hub(const std::vector<Endpoint>& places, const Secret& secret, const Hello& hello,
                          std::string_view name, Deadline deadline);

}  // namespace ringcomm::inline v0::bootstrap
