// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: the lanes over plain memory.
#pragma once

#include "transport/common/lane_transport.hpp"

namespace ringcomm::inline v0::transport::inproc {

class Transport final : public LaneTransport {
 public:
  using LaneTransport::LaneTransport;
  std::string_view name() const override { return "inproc"; }
  Status can_serve(const Bootstrap& bootstrap) const override;
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override;
};

}  // namespace ringcomm::inline v0::transport::inproc
