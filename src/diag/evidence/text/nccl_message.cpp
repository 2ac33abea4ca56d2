// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/nccl_message.hpp"

#include "diag/evidence/text/scan.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

/// "nodea:45006:45012": host, process, thread.
bool take_process(std::string_view token, Who& who) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 255) return false;
  std::string_view rest = token.substr(colon + 1);
  const auto pid = take_number(rest);
  if (!pid || *pid < 0 || !rest.starts_with(':')) return false;
  who.host = token.substr(0, colon);
  who.pid = *pid;
  return true;
}

}  // namespace

std::optional<NcclMessage> nccl_message_of(std::string_view line) {
  std::size_t marker = line.find("NCCL ");
  while (marker != std::string_view::npos) {
    const std::string_view kind = line.substr(marker + 5, 5);
    if (kind.starts_with("INFO") || kind.starts_with("WARN") || kind.starts_with("TRACE") ||
        kind.starts_with("CALL"))
      break;
    marker = line.find("NCCL ", marker + 5);
  }
  if (marker == std::string_view::npos) return std::nullopt;
  NcclMessage message;
  message.is_warning = line.substr(marker + 5).starts_with("WARN");
  message.text = line.substr(marker + 5);
  take_word(message.text);
  message.text = trimmed(message.text);
  std::string_view before = trimmed(line.substr(0, marker));
  if (const std::size_t bracket = before.rfind('['); bracket != std::string_view::npos) {
    std::string_view inside = before.substr(bracket + 1);
    const auto device = take_number(inside);
    if (device && take(inside, "]")) {
      message.who.gpu = small_number(device);
      message.place = trimmed(inside);
      before = trimmed(before.substr(0, bracket));
    }
  }
  const std::size_t blank = before.find_last_of(" \t");
  take_process(blank == std::string_view::npos ? before : before.substr(blank + 1), message.who);
  return message;
}

}  // namespace ringcomm::inline v0::diag::text
