// SPDX-License-Identifier: Apache-2.0
// What NCCL's warnings tell, by their words.
#include <array>

#include "diag/evidence/text/nccl_message.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

/// Some of the words have to be there, in lower case; "" asks for nothing.
struct Words {
  std::string_view first, second;
  EventKind kind;
};
// In the order in which they are tried: the more exact before the more general.
constexpr std::array kWords{
    Words{"duplicate gpu", "", EventKind::duplicate_gpu},
    Words{"mismatched nccl version", "", EventKind::version_mismatch},
    Words{"mismatch", "version", EventKind::version_mismatch},
    Words{"message truncated", "", EventKind::truncated_message},
    Words{"got completion", "", EventKind::ib_completion},
    Words{"async event", "port err", EventKind::port_error},
    Words{"async event", "port active", EventKind::ib_async},
    Words{"async event", "", EventKind::ib_async},
    Words{"async fatal event", "", EventKind::ib_async},
    Words{"/dev/shm", "", EventKind::shm_failed},
    Words{"shared memory", "", EventKind::shm_failed},
    Words{"out of memory", "", EventKind::cuda_oom},
    Words{"ibv_", "cannot allocate memory", EventKind::memlock_failed},
    Words{"ibv_", "enomem", EventKind::memlock_failed},
    Words{"ibv_reg", "", EventKind::registration_failed},
    Words{"register", "memory", EventKind::registration_failed},
    Words{"ibv_modify_qp", "", EventKind::connect_failed},
    Words{"cuda failure", "", EventKind::cuda_error},
    Words{"cuda error", "", EventKind::cuda_error},
    Words{"net device", "mixed", EventKind::mixed_net_devices},
    Words{"net device", "mismatch", EventKind::mixed_net_devices},
    Words{"net device count", "", EventKind::mixed_net_devices},
    Words{"socket interface", "", EventKind::no_interface},
    Words{"no usable interface", "", EventKind::no_interface},
    Words{"no interface", "", EventKind::no_interface},
    Words{"no route to host", "", EventKind::no_route},
    Words{"network is unreachable", "", EventKind::no_route},
    Words{"connection closed by remote", "", EventKind::peer_closed},
    Words{"connection reset by peer", "", EventKind::peer_closed},
    Words{"connection refused", "", EventKind::connect_failed},
    Words{"connection timed out", "", EventKind::connect_failed},
    Words{"connect", "failed :", EventKind::connect_failed},
    Words{"call to connect", "", EventKind::connect_failed},
    Words{"connect returned", "", EventKind::connect_failed},
    Words{"[service thread]", "", EventKind::aborted},
    Words{"[proxy service", "", EventKind::aborted},
    Words{"failed to execute operation", "", EventKind::aborted},
    Words{"socket recv failed", "", EventKind::aborted},
    Words{"socket send failed", "", EventKind::aborted},
    Words{"mismatch", "procs", EventKind::mismatch_reported},
    Words{"mismatch in", "", EventKind::mismatch_reported},
    Words{"nvlink", "error", EventKind::nvlink_error},
    Words{"too many open files", "", EventKind::system_error},
    Words{"call to", "failed", EventKind::system_error},
    Words{"cannot allocate memory", "", EventKind::system_error},
    Words{"no space left", "", EventKind::system_error},
};

EventKind kind_of(std::string_view text) {
  for (const Words& words : kWords) {
    if (contains_ignoring_case(text, words.first) && contains_ignoring_case(text, words.second))
      return words.kind;
  }
  return EventKind::other;
}

/// "status=12", "status=IBV_WC_RETRY_EXC_ERR(12)", "error 4".
std::int64_t completion_status(std::string_view text) {
  for (const std::string_view key : {"status=", "with error ", "status "}) {
    auto rest = after(text, key);
    if (!rest) continue;
    if (const auto number = take_number(*rest)) return *number;
    if (const auto in_brackets = number_after(take_word(*rest), "(")) return *in_brackets;
  }
  return 0;
}

void read_completion(std::string_view text, EventFact& event) {
  event.code = completion_status(text);
  for (const std::string_view key : {"vendor err ", "vendor_err=", "vendor err=", "vendor error "}) {
    if (const auto vendor = number_after(text, key)) event.second = *vendor;
  }
  if (const auto peer = after(text, "from peer ")) event.peer = peer_of(*peer);
  if (const std::string_view gid = word_after(text, "localGid "); !gid.empty()) event.who.address = gid;
  std::string_view remote = word_after(text, "remoteGids");
  if (remote.empty()) remote = word_after(text, "remoteGid ");
  event.peer.name = remote.substr(0, 64);
  const bool is_send = contains(text, "(Send)") || contains(text, "req_type=Send");
  const bool is_recv = contains(text, "(Recv)") || contains(text, "req_type=Recv");
  event.detail = is_send ? "Send" : is_recv ? "Recv" : "";
}

/// "rank 2 and rank 0 both on CUDA device 1000".
void read_duplicate(std::string_view text, EventFact& event) {
  event.who.group_rank = small_number(number_after(text, "rank "));
  if (const auto second = after(text, "and rank ")) {
    std::string_view rest = *second;
    event.peer.group_rank = small_number(take_number(rest));
  }
  std::string_view device = word_after(text, "CUDA device ");
  if (device.empty()) device = word_after(text, "device ");
  event.detail = device.substr(0, 32);
  event.who.bus_id = bus_id_of(device);
}

/// "rank 1 version 22105 rank 0 version 22602": the first in peer and code.
void read_versions(std::string_view text, EventFact& event) {
  const auto first = after(text, "rank ");
  if (!first) return;
  std::string_view rest = *first;
  event.peer.group_rank = small_number(take_number(rest));
  event.code = number_after(rest, "version ").value_or(0);
  if (const auto second = after(rest, "rank ")) {
    rest = *second;
    event.who.group_rank = small_number(take_number(rest));
    event.second = number_after(rest, "version ").value_or(0);
  }
}

/// "from 10.0.0.1<44206>", "peer host<1>", "Connect to 192.168.1.9<54263> failed : ...".
Who other_end(std::string_view text) {
  for (const std::string_view key : {"by remote peer ", "peer ", "onnect to ", "onnecting to ", "address "}) {
    if (const auto rest = after(text, key)) return peer_of(*rest);
  }
  // "[...] 10.0.0.1<44206>" behind other words.
  const std::size_t open = text.find('<');
  if (open == std::string_view::npos || open == 0) return {};
  const std::size_t blank = text.substr(0, open).find_last_of(" \t");
  return peer_of(text.substr(blank == std::string_view::npos ? 0 : blank + 1));
}

std::string detail_of(EventKind kind, std::string_view text) {
  if (kind == EventKind::cuda_error || kind == EventKind::cuda_oom) {
    const auto quoted = after(text, "'");
    return std::string(quoted ? quoted->substr(0, std::min<std::size_t>(quoted->find('\''), 80))
                              : text.substr(0, 80));
  }
  if (const auto call = after(text, "Call to "); call && kind != EventKind::other) {
    std::string_view rest = *call;
    return std::string(take_word(rest).substr(0, 80));
  }
  if (contains_ignoring_case(text, "p2p is disabled")) return "p2p_disabled";
  return std::string(text.substr(0, 120));
}

}  // namespace

void read_nccl_warning(const NcclMessage& message, Facts& facts) {
  EventFact event;
  event.kind = kind_of(message.text);
  event.who = message.who;
  event.text = message.text.substr(0, kTextMax);
  switch (event.kind) {
    case EventKind::ib_completion:
      read_completion(message.text, event);
      break;
    case EventKind::duplicate_gpu:
      read_duplicate(message.text, event);
      break;
    case EventKind::version_mismatch:
      read_versions(message.text, event);
      break;
    case EventKind::truncated_message:
      event.code = number_after(message.text, "receiving ").value_or(0);
      event.second = number_after(message.text, "instead of ").value_or(0);
      event.peer = other_end(message.text);
      break;
    case EventKind::ib_async:
    case EventKind::port_error: {
      std::string_view rest = message.text;
      if (const auto device = after(rest, "NET/IB : ")) rest = *device;
      event.detail = take_word(rest).substr(0, 64);
      break;
    }
    case EventKind::peer_closed:
    case EventKind::connect_failed:
    case EventKind::no_route:
      event.peer = other_end(message.text);
      [[fallthrough]];
    default:
      event.detail = detail_of(event.kind, message.text);
  }
  facts.add(std::move(event));
}

}  // namespace ringcomm::inline v0::diag::text
