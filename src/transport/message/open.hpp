// SPDX-License-Identifier: Apache-2.0
// How the members of a channel meet: each tells the others its number of the channel and waits for theirs.
#pragma once

#include <memory>

#include "transport/message/core.hpp"

namespace ringcomm::inline v0::transport::message {

/// Transport::open_channel(). A failure is this rank's failure unless it is invalid_argument.
Result<std::unique_ptr<TransportChannel>> open_channel(const std::shared_ptr<Core>& core,
                                                       const ChannelKey& key, Deadline deadline);

}  // namespace ringcomm::inline v0::transport::message
