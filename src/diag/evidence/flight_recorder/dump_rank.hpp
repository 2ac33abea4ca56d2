// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "diag/evidence/flight_recorder/dump.hpp"

namespace ringcomm::inline v0::diag::flight_recorder {

/// "nccl:send 0->1", "nccl:recv 0<-8": both ends, as ranks of the group.
struct MessageEnds {
  int own, peer;
};
std::optional<MessageEnds> message_ends(std::string_view name);

/// Of the content where that settles it, else of the file's name where no group speaks against it.
int rank_of_dump(const Dump& dump, std::string_view path);

}  // namespace ringcomm::inline v0::diag::flight_recorder
