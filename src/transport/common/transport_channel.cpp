// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0 {

Status TransportChannel::submit(std::span<const TransportOp> batch, StreamView stream, Deadline deadline) {
  if (!stream) return run(batch, deadline);
  return stream.impl->enqueue([this, batch, deadline]() { return run(batch, deadline); }, deadline);
}

}  // namespace ringcomm::inline v0
