// SPDX-License-Identifier: Apache-2.0
// Reads what NCCL prints under NCCL_DEBUG=INFO, as people paste it: prefixed, torn, cut.
#pragma once

#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

bool looks_like(std::string_view text);
/// Keeps at most 100,000 events; the others, lines without a message and messages of no use are counted.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nccl_log
