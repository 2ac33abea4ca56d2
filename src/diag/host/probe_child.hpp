// SPDX-License-Identifier: Apache-2.0
// A child process that tries something with its parent, within a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ringcomm::inline v0::diag {

/// One side of a try; gets this side's end of a Unix socket pair. Empty: it worked; else why not.
using ProbeSide = std::function<std::string(int socket)>;

/// Runs `child` in a forked process and `parent` here; the first failure of either, or what the child died
/// of. A child that is not done in time is killed.
std::string with_child(std::chrono::milliseconds deadline, const ProbeSide& child, const ProbeSide& parent);

/// Waits until the descriptor can be read.
bool readable(int fd, std::chrono::milliseconds deadline);

}  // namespace ringcomm::inline v0::diag
