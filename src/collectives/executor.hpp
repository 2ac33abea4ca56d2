// SPDX-License-Identifier: Apache-2.0
// The one executor of collectives: walks a program inline, in a stream's worker, or submits it to a stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/lower.hpp"
#include "collectives/work_state.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"

namespace ringcomm::inline v0::collectives {

/// A lowered collective with what its steps need. Kept by the channel and run again for the same arguments.
class Runnable {
 public:
  virtual ~Runnable() = default;
  Program program;
  /// Op, data type, reduce op and signature of all descriptors; `bytes` (the size of a row) and `block` (the
  /// root) are announced, so that ranks whose values differ hear numbers before hashes.
  Descriptor common;

  /// Before the first operation of a run (packing), in stream order.
  void (*prepare)(Runnable& self) = nullptr;
  void (*compute)(Runnable& self, const Compute& step) = nullptr;
  /// For operations that not all members take part in: numbers the transport operations, and nothing is
  /// announced. Null: the channel's sequence for all of them.
  void (*number)(Runnable& self) = nullptr;
  /// Items at the program's end that a run leaves for ChannelState: the results are lent until then.
  std::size_t items_left = 0;
};

/// Begins the operation, runs it inline (no stream) or in stream order, and makes its failure the
/// communicator's. Inline runs allocate nothing.
Result<Work> launch(Channel& channel, const std::shared_ptr<Runnable>& runnable, const CallOptions& options);

/// For waiting on a stream whose work has `deadline`: a little later, so that the work can say itself what
/// was missing.
Deadline backstop(Deadline deadline);

/// Groups up to this size have their plans verified when they are made (plan_check.hpp).
inline constexpr int kVerifiedRanksMax = 16;

}  // namespace ringcomm::inline v0::collectives
