// SPDX-License-Identifier: Apache-2.0
// What a frame of a stack says: in a collective, in a host synchronisation, at a graph's launch, or
// elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

/// In the order in which one thread's finding wins over another's.
enum class StackRole : std::uint8_t {
  elsewhere,
  host_sync,
  teardown,
  graph_launch,
  cpu_collective,
  collective
};

struct FrameFinding {
  StackRole role = StackRole::elsewhere;
  std::string op;     ///< "all_gather"; of a collective
  std::string frame;  ///< the frame that says so; of `elsewhere` the innermost one
};

/// Of one thread. A thread of the communication library itself (proxy, watchdog, monitor) says nothing.
FrameFinding finding_of(const StackFact& stack);
bool is_library_thread(const StackFact& stack);
bool is_main_thread(const StackFact& stack);
/// "ZeRO-3 data-parallel group", from the files that the frames lie in; empty where they do not tell.
std::string group_of_frames(const std::vector<std::string>& frames);

}  // namespace ringcomm::inline v0::diag
