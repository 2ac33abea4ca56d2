// SPDX-License-Identifier: Apache-2.0
// The host's event: a position in a stream's queue, copied by every wait for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "device/host/stream_queue.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0 {

class HostEvent final : public EventImpl {
 public:
  HostEvent();

  /// An empty view marks a point that is over already.
  Status record(StreamView stream) override;
  Status wait(StreamView stream) override;
  /// False when nobody has recorded it.
  bool is_done() const override;
  Status synchronize(Deadline deadline) override;

 private:
  struct Point {
    std::shared_ptr<StreamQueue> queue;  ///< null: over from the start
    std::uint64_t position = 0;
    Status wait(Deadline deadline, const std::atomic<bool>* stop) const;
  };
  Result<Point> recorded_point() const;

  mutable std::mutex mutex_;
  std::optional<Point> point_;
  std::uint32_t fork_generation_;
};

}  // namespace ringcomm::inline v0
