// SPDX-License-Identifier: Apache-2.0
// Where threads of one process that form a new group meet.
#pragma once

#include <cstdint>
#include <memory>

#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::comm {

/// A number that no other call in this process has returned: names a group that is about to form.
std::uint64_t new_group_number();

/// This rank's handle on group `number`; the first of its `size` threads to come makes the group. Each rank
/// takes its handle once.
Result<std::unique_ptr<Bootstrap>> join_thread_group(std::uint64_t number, int rank, int size);

}  // namespace ringcomm::inline v0::comm
