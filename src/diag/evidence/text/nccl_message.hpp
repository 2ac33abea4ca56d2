// SPDX-License-Identifier: Apache-2.0
// "host:pid:tid [dev] NCCL INFO ...", "host:pid:tid [dev] file.cc:12 NCCL WARN ...".
#pragma once

#include <optional>
#include <string_view>

#include "diag/evidence/text/facts.hpp"

namespace ringcomm::inline v0::diag::text {

struct NcclMessage {
  bool is_warning = false;
  std::string_view text{};   ///< behind "NCCL INFO "
  std::string_view place{};  ///< "misc/socket.cc:49" of a warning
  Who who{};                 ///< host, pid, gpu
};
std::optional<NcclMessage> nccl_message_of(std::string_view line);

/// A warning becomes an event of the kind that its words tell; always one.
void read_nccl_warning(const NcclMessage& message, Facts& facts);

}  // namespace ringcomm::inline v0::diag::text
