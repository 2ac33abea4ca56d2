// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/transfers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ringcomm/core/text.hpp"
#include "transport/ucx/am_ids.hpp"
#include "transport/ucx/check.hpp"

namespace ringcomm::inline v0::transport::ucx {

Transfers::Transfer& Transfers::take_slot() {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back().index = unused_.back();
  }
  Transfer& transfer = slots_[unused_.back()];
  unused_.pop_back();
  ++transfer.generation;
  transfer.is_own = false;
  return transfer;
}

TransferId Transfers::id_of(const Transfer& transfer) {
  return (static_cast<TransferId>(transfer.generation) << 32) | (transfer.index + 1);
}

void Transfers::finish(Transfer& transfer, ucs_status_t status, std::size_t bytes) {
  if (transfer.state != State::moving) return;  // failed already, with a better reason
  transfer.state = State::done;
  if (status != UCS_OK) {
    transfer.state = State::failed;
    transfer.failure = to_status(status, concat("transfer with rank ", transfer.peer));
  } else if (bytes != transfer.bytes) {
    transfer.state = State::failed;
    transfer.failure = Status::internal(concat("ucx: rank ", transfer.peer, " sent ", bytes, " bytes, not ",
                                               transfer.bytes, ", under tag ", transfer.heading.header.tag));
  }
}

ucp_request_param_t Transfers::parameters(Transfer& transfer, const std::byte* data,
                                          std::size_t bytes) const {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &transfer;
#if UCP_API_VERSION >= UCP_VERSION(1, 13)
  param.memh = worker_.find_memory(data, bytes);
  if (param.memh != nullptr) param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
#endif
  return param;
}

Result<TransferId> Transfers::send(const Destination& to, const DataHeader& header,
                                   std::span<const std::byte> announcement, const std::byte* data,
                                   std::size_t bytes) {
  Transfer& transfer = take_slot();
  transfer.state = State::moving;
  transfer.peer = to.peer;
  transfer.bytes = bytes;
  transfer.heading.header = header;
  std::ranges::copy(announcement, transfer.heading.announcement.begin());
  ucp_request_param_t param = parameters(transfer, data, bytes);
  if (to.is_eager) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
  }
  param.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    auto& sent = *static_cast<Transfer*>(user_data);
    finish(sent, status, sent.bytes);
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request = ucp_am_send_nbx(
      to.endpoint, kDataAm, &transfer.heading, sizeof(DataHeader) + announcement.size(), data, bytes, &param);
  if (request == nullptr) finish(transfer, UCS_OK, bytes);
  if (UCS_PTR_IS_ERR(request)) {
    finish(transfer, UCS_PTR_STATUS(request), bytes);
    return is_done(id_of(transfer)).status();  // its failure; nothing is in flight
  }
  return id_of(transfer);
}

TransferId Transfers::send_to_self(int self, std::uint64_t tag, const std::byte* data, std::size_t bytes) {
  Transfer& transfer = take_slot();
  transfer.state = State::moving;
  transfer.peer = self;
  transfer.is_own = true;
  transfer.bytes = bytes;
  arrivals_.push_back({.source = self, .tag = tag, .bytes = bytes, .data = data, .sender = transfer.index});
  has_new_ = true;
  return id_of(transfer);
}

TransferId Transfers::receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) {
  Transfer& transfer = take_slot();
  transfer.state = State::posted;
  transfer.peer = peer;
  transfer.data = data;
  transfer.bytes = bytes;
  transfer.heading.header = {.tag = tag, .source = static_cast<std::uint32_t>(peer)};
  posted_.push_back(transfer.index);
  std::erase_if(expected_,
                [&](const Expected& expected) { return expected.peer == peer && expected.tag == tag; });
  has_new_ = has_new_ || !arrivals_.empty();
  return id_of(transfer);
}

Result<bool> Transfers::is_done(TransferId id) {
  const auto index = static_cast<std::uint32_t>(id) - 1;
  if (index >= slots_.size() || id_of(slots_[index]) != id || slots_[index].state == State::unused)
    return Status::internal(concat("ucx: transfer ", id, " is not in flight"));
  Transfer& transfer = slots_[index];
  if (transfer.state == State::posted || transfer.state == State::moving) return false;
  const State ended = std::exchange(transfer.state, State::unused);
  unused_.push_back(index);
  if (ended == State::done) return true;
  return std::exchange(transfer.failure, Status());
}

void Transfers::fail(int peer, const Status& reason) {
  for (Transfer& transfer : slots_) {
    if (transfer.peer != peer || transfer.state != State::posted) continue;
    transfer.state = State::failed;
    transfer.failure = reason;
    std::erase(posted_, transfer.index);
  }
}

Transfers::Transfer* Transfers::take_posted(int source, std::uint64_t tag) {
  const auto at = std::ranges::find_if(posted_, [&](std::uint32_t index) {
    return slots_[index].peer == source && slots_[index].heading.header.tag == tag;
  });
  if (at == posted_.end()) return nullptr;
  Transfer& transfer = slots_[*at];
  posted_.erase(at);
  return &transfer;
}

void Transfers::give_up(const Status& reason) {
  expected_.clear();
  for (const std::uint32_t index : posted_) {
    slots_[index].state = State::failed;
    slots_[index].failure = reason;
  }
  posted_.clear();
}

ucs_status_t Transfers::arrive(const DataHeader& header, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t& param) {
  Arrival arrival{.source = static_cast<int>(header.source), .tag = header.tag, .bytes = bytes};
  arrival.is_rendezvous = (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  bool may_keep = arrival.is_rendezvous || (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  if (!arrival.is_rendezvous) {
    arrival.data = static_cast<const std::byte*>(data);
    if (Transfer* const transfer = take_posted(arrival.source, arrival.tag)) {
      transfer->state = State::moving;
      take(*transfer, arrival);
      has_finished_ = true;
      return UCS_OK;
    }
    const auto at = std::ranges::find_if(expected_, [&](const Expected& expected) {
      return expected.peer == arrival.source && expected.tag == arrival.tag && expected.bytes == bytes;
    });
    std::byte* to = nullptr;
    if (at != expected_.end()) {
      to = at->data;
    } else if (!may_keep) {
      arrival.copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
      to = arrival.copy.get();
    }
    if (to != nullptr) {
      std::memcpy(to, data, bytes);
      arrival.data = to;
      may_keep = false;
    }
  }
  if (may_keep) arrival.descriptor = data;
  arrivals_.push_back(std::move(arrival));
  has_new_ = true;
  return may_keep ? UCS_INPROGRESS : UCS_OK;
}

void Transfers::take(Transfer& transfer, const Arrival& arrival) {
  if (arrival.bytes == transfer.bytes && arrival.data != transfer.data)
    std::memcpy(transfer.data, arrival.data, arrival.bytes);
  finish(transfer, UCS_OK, arrival.bytes);
}

void Transfers::match(Transfer& transfer, const Arrival& arrival) {
  transfer.state = State::moving;
  if (!arrival.is_rendezvous) {
    take(transfer, arrival);
    if (arrival.sender) finish(slots_[*arrival.sender], UCS_OK, arrival.bytes);
    if (arrival.descriptor != nullptr) ucp_am_data_release(worker_.handle(), arrival.descriptor);
    return;
  }
  if (arrival.bytes != transfer.bytes) {
    ucp_am_data_release(worker_.handle(), arrival.descriptor);
    finish(transfer, UCS_OK, arrival.bytes);
    return;
  }
  ucp_request_param_t param = parameters(transfer, transfer.data, transfer.bytes);
  param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t length, void* user_data) {
    finish(*static_cast<Transfer*>(user_data), status, length);
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_.handle(), arrival.descriptor, transfer.data, transfer.bytes, &param);
  if (request == nullptr) finish(transfer, UCS_OK, arrival.bytes);
  if (UCS_PTR_IS_ERR(request)) finish(transfer, UCS_PTR_STATUS(request), arrival.bytes);
}

bool Transfers::has_arrival(int peer, std::uint64_t tag) const {
  return std::ranges::any_of(
      arrivals_, [&](const Arrival& arrival) { return arrival.source == peer && arrival.tag == tag; });
}

bool Transfers::start_matches() {
  const bool has_finished = std::exchange(has_finished_, false);
  if (!std::exchange(has_new_, false)) return has_finished;
  bool has_matched = has_finished;
  for (std::size_t i = 0; i < arrivals_.size();) {
    Transfer* const transfer = take_posted(arrivals_[i].source, arrivals_[i].tag);
    if (transfer == nullptr) {
      ++i;
      continue;
    }
    const Arrival arrival = std::move(arrivals_[i]);
    arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(i));
    match(*transfer, arrival);
    has_matched = true;
  }
  return has_matched;
}

bool Transfers::has_moving(std::optional<int> peer) const {
  return std::ranges::any_of(slots_, [&](const Transfer& transfer) {
    return transfer.state == State::moving && !transfer.is_own &&
           transfer.peer == peer.value_or(transfer.peer);
  });
}

void Transfers::drop_arrivals() {
  for (const Arrival& arrival : arrivals_) {
    if (arrival.descriptor != nullptr) ucp_am_data_release(worker_.handle(), arrival.descriptor);
  }
  arrivals_.clear();
}

}  // namespace ringcomm::inline v0::transport::ucx
