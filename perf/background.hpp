// SPDX-License-Identifier: Apache-2.0
// Another collective that runs at the same time, on a channel and a stream of its own.
#pragma once

#include <memory>
#include <optional>

#include "options.hpp"
#include "ringcomm/collectives/work.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::perf {

/// One is launched right before each measured operation and waited for, untimed, behind it: every rank
/// launches equally many, in the same order.
class Background {
 public:
  virtual ~Background() = default;
  /// Collective. options.background names the operation, options.background_bytes its size.
  static Result<std::unique_ptr<Background>> create(Communicator& comm, const Options& options);
  Status launch();
  Status finish();

 protected:
  /// Queues one operation on the stream.
  virtual Result<Work> start(Channel& channel, StreamView stream) = 0;

 private:
  Channel* channel_ = nullptr;
  std::optional<Stream> stream_;
  Work work_;
};

/// The operations that --background knows.
std::vector<std::string> background_operations();

}  // namespace ringcomm::perf
