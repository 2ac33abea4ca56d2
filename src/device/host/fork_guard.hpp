// SPDX-License-Identifier: Apache-2.0
// Tells an object that it lives in a forked child, where its threads and some of its memory are gone.
#pragma once

#include <cstdint>

namespace ringcomm::inline v0 {

/// Counts the forks between the first process that called this and the calling one. An object keeps the value
/// of its creation; a different one later means that it is a child's copy. A relaxed load (getpid() costs
/// 138 ns, communication.md §5.1).
std::uint32_t fork_generation();

}  // namespace ringcomm::inline v0
