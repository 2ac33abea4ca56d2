// SPDX-License-Identifier: Apache-2.0
// Walks a program from compute to compute for a consumer that is the caller itself.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/lower.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0::collectives {

/// One queue: batches run inline between the computes (or, on a transport that orders by stream, on the comm
/// stream, which is then waited for). Two queues: batches run on the comm stream as soon as the computes
/// before them are done, and a compute waits for the batch that brings its data.
class RotationWalk {
 public:
  RotationWalk(Channel& channel, Program program) : channel_(channel), program_(std::move(program)) {}
  /// Takes the comm stream and its events, where they are needed. Once.
  Status prepare();
  Status start(const OperationScope& scope);
  /// Runs up to the next compute; null at the end, when all batches are complete, and on failure, which goes
  /// to `status`. The compute before it counts as done.
  const Compute* next(Status& status);
  /// Gives back what the present compute reads, before next() would. Only where that is an operation of its
  /// own (direct mode); a failure shows at the next call.
  void give_back();
  /// After a failure: until nothing of the program runs any more (bounded).
  void drain();
  const Program& program() const { return program_; }

 private:
  Status issue(const Batch& batch);
  Status feed_comm_queue();
  Status wait_for(const Compute& compute);
  /// Once per compute.
  void record_done();

  Channel& channel_;
  Program program_;
  StreamView stream_;
  std::vector<Event> events_;  ///< by batch; used where a compute waits for it
  Deadline deadline_;
  std::size_t next_item_ = 0;
  std::size_t next_batch_ = 0;  ///< of the comm queue
  std::int32_t computes_done_ = 0;
  const Compute* computing_ = nullptr;
  bool is_given_back_ = false;  ///< the release that opens the next batch has run already
};

}  // namespace ringcomm::inline v0::collectives
