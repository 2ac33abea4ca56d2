// SPDX-License-Identifier: Apache-2.0
// Meetings over TCP as a network sees them: the public calls join the ranks of one host on top.
#pragma once

#include <memory>
#include <string_view>

#include "bootstrap/tcp_address.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::bootstrap {

/// Further ports that are tried behind a meeting place's own.
inline constexpr int kPortsBehind = 16;

Status check_rank(int rank, int size);
/// Rank 0 serves at the first free port from the address's on; the others look for it there.
Result<std::unique_ptr<Bootstrap>> meet_at_address(std::string_view address, std::string_view secret,
                                                   int rank, int size, Deadline deadline);
Result<std::unique_ptr<Bootstrap>> meet_by_id(const UniqueId& id, int rank, int size, Deadline deadline);

}  // namespace ringcomm::inline v0::bootstrap
