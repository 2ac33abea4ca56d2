// SPDX-License-Identifier: Apache-2.0
// Ranks as processes of one host: the lanes over memory that their owners hand over by descriptor.
#pragma once

#include "transport/common/lane_transport.hpp"

namespace ringcomm::inline v0::transport::shm {

/// Nothing has a name in a file system, /dev/shm is not used, and there is no thread. A forked child's copy
/// must not be used; destroying it does no harm.
class Transport final : public LaneTransport {
 public:
  using LaneTransport::LaneTransport;
  std::string_view name() const override { return "shm"; }
  Status can_serve(const Bootstrap& bootstrap) const override;
  /// If any rank fails, all do, with that rank's reason.
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override;
};

}  // namespace ringcomm::inline v0::transport::shm
