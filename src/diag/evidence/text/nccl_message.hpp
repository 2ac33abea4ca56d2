// SPDX-License-Identifier: Apache-2.0
// "host:pid:tid [dev] NCCL INFO ...", "host:pid:tid [dev] file.cc:12 NCCL WARN ...".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

/// "float32" of ncclDataType_t 7.
std::string nccl_type_name(std::optional<std::int64_t> number);

/// Lines of NCCL_DEBUG_SUBSYS=CALL. They carry no number, so calls are counted for each process and
/// communicator.
class NcclCalls {
 public:
  bool read(const NcclMessage& message, Facts& facts);

 private:
  struct Group {
    int depth = 0;
    std::int64_t id = 0;
  };
  std::map<std::string, Group> groups_{};
  std::map<std::string, std::int64_t> counts_{};
  std::int64_t last_group_ = 0;
};

}  // namespace ringcomm::inline v0::diag::text
