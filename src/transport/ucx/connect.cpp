// SPDX-License-Identifier: Apache-2.0
// How a port's ranks find each other, and how it leaves them.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "core/try.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/ucx/am_ids.hpp"
#include "transport/ucx/check.hpp"
#include "transport/ucx/devices.hpp"
#include "transport/ucx/port.hpp"

namespace ringcomm::inline v0::transport::ucx {
namespace {

constexpr std::chrono::milliseconds kFlushMax{500}, kCloseMax{1000};
// Of a run that has failed: together below what its callers wait for its end (collectives' kDrain, 1 s).
constexpr std::chrono::milliseconds kCancelFlushMax{400}, kCancelCloseMax{300};
constexpr std::chrono::microseconds kConnectNap{20'000};

/// A code, then the address or why there is none.
std::vector<std::byte> encode(const Status& status, std::span<const std::byte> address) {
  std::vector<std::byte> bytes{static_cast<std::byte>(status.code())};
  const auto text = std::as_bytes(std::span(status.message()));
  const auto body = status.is_ok() ? address : text;
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

/// Everybody's addresses if all are ready; else the failure of the lowest rank that has one, on all ranks.
Result<std::vector<std::vector<std::byte>>> agree(Bootstrap& bootstrap, const Status& mine,
                                                  std::span<const std::byte> address, Deadline deadline) {
  auto all = bootstrap.all_gather(encode(mine, address), deadline);
  if (!all.is_ok()) return mine.is_ok() ? all.status() : mine;
  int rank = 0;
  for (std::vector<std::byte>& said : all.value()) {
    if (said.empty() || static_cast<int>(said[0]) > static_cast<int>(StatusCode::internal))
      return Status::corrupt_data(concat("rank ", rank, " said ", said.size(), " bytes about ucx"));
    const auto code = static_cast<StatusCode>(said[0]);
    said.erase(said.begin());
    if (code != StatusCode::ok) {
      return Status(code, concat("rank ", rank, ": ",
                                 std::string_view(reinterpret_cast<const char*>(said.data()), said.size())));
    }
    ++rank;
  }
  return all;
}

/// "posix/memory cma/memory", from what UCX prints for people: 1.13 has no query for it.
std::string lanes_of(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  std::string_view rest(text, bytes);
  std::string lanes;
  while (true) {
    const std::size_t lane = rest.find("lane[");
    if (lane == std::string_view::npos) break;
    rest.remove_prefix(lane);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t slash = line.find('/');
    rest.remove_prefix(1);
    if (slash == std::string_view::npos) continue;
    const std::size_t from = line.find_last_of(": ", slash) + 1;
    const std::size_t to = line.find_first_of(". ", slash);
    const std::string_view name = line.substr(from, to == std::string_view::npos ? to : to - from);
    if (lanes.find(name) == std::string::npos) lanes += concat(lanes.empty() ? "" : " ", name);
  }
  std::free(text);
  return lanes;
}

bool are_all_tcp(std::string_view lanes) {
  bool is_any = false;
  while (!lanes.empty()) {
    const std::size_t end = std::min(lanes.find(' '), lanes.size());
    if (!lanes.starts_with("tcp/")) return false;
    is_any = true;
    lanes.remove_prefix(std::min(end + 1, lanes.size()));
  }
  return is_any;
}

}  // namespace

Status UcxPort::can_serve(const Bootstrap& bootstrap) const {
  static_cast<void>(bootstrap);
  return {};
}

Status UcxPort::set_handlers() {
  ucp_am_handler_param_t param{};
  param.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.arg = this;
  param.id = kControlAm;
  param.cb = [](void* arg, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                const ucp_am_recv_param_t*) {
    return static_cast<UcxPort*>(arg)->on_control(header, header_bytes, data, bytes);
  };
  ucs_status_t status = ucp_worker_set_am_recv_handler(worker_->handle(), &param);
  if (status != UCS_OK) return to_status(status, "no handler for control messages");
  param.id = kDataAm;  // not persistent: UCX would copy each block before it says that one is there
  param.cb = [](void* arg, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                const ucp_am_recv_param_t* received) {
    return static_cast<UcxPort*>(arg)->on_data(header, header_bytes, data, bytes, *received);
  };
  status = ucp_worker_set_am_recv_handler(worker_->handle(), &param);
  return status == UCS_OK ? Status() : to_status(status, "no handler for data messages");
}

Status UcxPort::start(const Bootstrap& bootstrap) {
  rank_ = bootstrap.rank();
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    Peer& peer = peers_.emplace_back();
    peer.port = this;
    peer.rank = rank;
  }
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) {
    return Status::not_available(concat("ucx: eventfd failed: ", std::generic_category().message(errno)));
  }
  RINGCOMM_TRY(watch_.open());
  RINGCOMM_TRY_ASSIGN(worker_, Worker::create(bootstrap.size(), devices_for(bootstrap)));
  transfers_ = std::make_unique<Transfers>(*worker_);
  return set_handlers();
}

Status UcxPort::make_endpoints(const std::vector<std::vector<std::byte>>& addresses) {
  for (Peer& peer : peers_) {
    if (peer.rank == rank_) continue;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address =
        reinterpret_cast<const ucp_address_t*>(addresses[static_cast<std::size_t>(peer.rank)].data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = &peer;
    params.err_handler.cb = [](void* arg, ucp_ep_h, ucs_status_t status) {
      auto& lost = *static_cast<Peer*>(arg);
      lost.port->lose(lost, to_status(status, concat("the connection with rank ", lost.rank, " broke")));
    };
    const ucs_status_t status = ucp_ep_create(worker_->handle(), &params, &peer.endpoint);
    if (status != UCS_OK) {
      peer.endpoint = nullptr;
      return to_status(status, concat("rank ", rank_, " has no way to rank ", peer.rank));
    }
  }
  return {};
}

Status UcxPort::watch_processes(const Bootstrap& bootstrap) {
  if (bootstrap.kind() != GroupKind::processes) return {};
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    if (rank == rank_) continue;
    RINGCOMM_TRY_ASSIGN(const int pid, bootstrap.peer_pid(rank));
    RINGCOMM_TRY(watch_.watch(rank, pid));
  }
  return {};
}

std::string UcxPort::ranks_without_greeting(std::uint32_t greetings) const {
  std::string ranks;
  for (const Peer& peer : peers_) {
    if (peer.rank != rank_ && peer.greetings < greetings)
      ranks += concat(ranks.empty() ? "" : ", ", peer.rank);
  }
  return ranks;
}

/// Sends everybody one greeting more and waits until everybody's is here.
Status UcxPort::greet_all(std::uint32_t greetings, Deadline deadline) {
  for (Peer& peer : peers_) {
    if (peer.rank != rank_) RINGCOMM_TRY(send_am(peer, {}, true));
  }
  while (!ranks_without_greeting(greetings).empty()) {
    const bool has_moved = advance();
    find_ended_processes();
    for (const Peer& peer : peers_) {
      if (peer.is_lost && peer.greetings < greetings) return peer.reason;
    }
    if (deadline.is_expired()) {
      return Status::unreachable(concat("ucx: rank ", rank_, " heard nothing from rank ",
                                        ranks_without_greeting(greetings),
                                        " (UCX_NET_DEVICES and UCX_TLS choose another path)"));
    }
    const auto left = std::chrono::microseconds(deadline.remaining_ns() / 1000);
    if (!has_moved) sleep(std::min(left, kConnectNap));
  }
  return {};
}

/// UCX makes its connections while messages wait. They have to be there before anybody stops calling us: what
/// is then sent must arrive although the sender leaves.
Status UcxPort::complete_connections(Deadline deadline) {
  RINGCOMM_TRY(greet_all(1, deadline));
  flush(std::chrono::milliseconds(deadline.remaining_ns() / 1'000'000));
  return greet_all(kGreetings, deadline);
}

void UcxPort::look_at_lanes() {
  for (Peer& peer : peers_) {
    if (peer.endpoint == nullptr) continue;
    const std::string lanes = lanes_of(peer.endpoint);
    peer.is_near = lanes.find("posix/") != std::string::npos || lanes.find("sysv/") != std::string::npos;
    peer.is_over_tcp = are_all_tcp(lanes);
    log(LogLevel::info, concat("ucx: rank ", rank_, " reaches rank ", peer.rank, " over ", lanes));
  }
}

Status UcxPort::connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) {
  sink_ = &sink;
  Status ready = start(bootstrap);
  std::vector<std::byte> address;
  if (ready.is_ok()) {
    auto mine = worker_->address();
    ready = mine.status();
    if (mine.is_ok()) address = std::move(mine).value();
  }
  RINGCOMM_TRY_ASSIGN(const auto addresses, agree(bootstrap, ready, address, deadline));
  ready = make_endpoints(addresses);
  if (ready.is_ok()) ready = watch_processes(bootstrap);
  // Also the point up to which every peer was alive, so that each process id belonged to it when watched.
  RINGCOMM_TRY(agree(bootstrap, ready, {}, deadline).status());
  RINGCOMM_TRY(complete_connections(deadline));
  look_at_lanes();
  return {};
}

void UcxPort::wait_for(std::vector<ucs_status_ptr_t>& requests, std::chrono::milliseconds at_most) {
  const Deadline deadline = Deadline::after(at_most);
  while (!requests.empty()) {
    std::erase_if(requests, [](ucs_status_ptr_t request) {
      if (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
      return true;
    });
    if (requests.empty() || deadline.is_expired()) break;
    if (ucp_worker_progress(worker_->handle()) == 0 && worker_->arm()) {
      pollfd wait{.fd = worker_->event_fd(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, 1);
    }
  }
}

/// Until everything sent is on its way.
void UcxPort::flush(std::chrono::milliseconds at_most) {
  ucp_request_param_t param{};
  std::vector<ucs_status_ptr_t> requests;
  for (const Peer& peer : peers_) {
    if (peer.endpoint != nullptr && !peer.is_lost)
      requests.push_back(ucp_ep_flush_nbx(peer.endpoint, &param));
  }
  wait_for(requests, at_most);
  for (const ucs_status_ptr_t request : requests) ucp_request_free(request);  // UCX does when it is done
}

void UcxPort::close_endpoints(bool is_all, std::chrono::milliseconds flush_max,
                              std::chrono::milliseconds close_max) {
  const auto is_closed = [&](const Peer& peer) {
    return peer.endpoint != nullptr && (is_all || transfers_->has_moving(peer.rank));
  };
  if (std::ranges::none_of(peers_, is_closed)) return;
  flush(flush_max);  // so that a last word arrives
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  std::vector<ucs_status_ptr_t> closing;
  for (Peer& peer : peers_) {
    if (!is_closed(peer)) continue;
    closing.push_back(ucp_ep_close_nbx(peer.endpoint, &param));
    peer.endpoint = nullptr;
    if (is_all || peer.is_lost) continue;
    peer.is_lost = peer.is_told = true;
    peer.reason = Status::peer_lost(concat("ucx: the connection with rank ", peer.rank, " was given up"));
  }
  const Deadline deadline = Deadline::after(close_max);
  wait_for(closing, close_max);
  // Closing cancels what is in flight, in later rounds of progress.
  while (transfers_->has_moving() && !deadline.is_expired()) ucp_worker_progress(worker_->handle());
  if (transfers_->has_moving())
    log(LogLevel::warn,
        concat("ucx: rank ", rank_, " cannot end what is under way: its memory may be written"));
  for (const ucs_status_ptr_t request : closing) ucp_request_free(request);
}

/// UCX 1.13 cancels tag receives only: whatever is under way ends with its connection.
void UcxPort::cancel() {
  transfers_->give_up(Status::aborted("ucx: given up after a failure of the group"));
  if (transfers_->has_moving()) close_endpoints(false, kCancelFlushMax, kCancelCloseMax);
}

UcxPort::~UcxPort() {
  if (worker_) close_endpoints(true, kFlushMax, kCloseMax);
  transfers_.reset();
  worker_.reset();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

}  // namespace ringcomm::inline v0::transport::ucx
