// SPDX-License-Identifier: Apache-2.0
// NUMA wishes by raw system calls, because libnuma would be a dependency for two of them.
#pragma once

#include <cstddef>

namespace ringcomm::inline v0 {

/// Asks that pages of [data, data + bytes) touched from now on come from `node`. Best effort: a refusal is
/// one log line at level info. -1 asks for nothing.
void prefer_memory_node(void* data, std::size_t bytes, int node);

/// The same for all pages that the calling thread touches first.
void prefer_memory_node_of_this_thread(int node);

}  // namespace ringcomm::inline v0
