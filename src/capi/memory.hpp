// SPDX-License-Identifier: Apache-2.0
// The memory of ringcommMemAlloc, found by address.
#pragma once

#include <cstddef>
#include <memory>

#include "ringcomm/device/segment.hpp"

namespace ringcomm::inline v0::capi {

/// The segment of the window that holds [address, address + bytes); null if none does.
std::shared_ptr<Segment> window_segment(const void* address, std::size_t bytes);

}  // namespace ringcomm::inline v0::capi
