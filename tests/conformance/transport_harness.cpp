// SPDX-License-Identifier: Apache-2.0
#include "conformance/transport_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ringcomm/device/device.hpp"
#include "support/rank_threads.hpp"

namespace ringcomm::conformance {
namespace {

TransportOp operation(TransportOpKind kind, int peer, std::byte* address, const Descriptor& d) {
  return {.kind = kind, .peer = peer, .address = address, .bytes = d.bytes, .descriptor = d};
}

/// Eight bytes at a time, since the tests run unoptimised.
std::uint64_t pattern(std::size_t word, int rank, int round) {
  const auto salt = (static_cast<std::uint64_t>(rank) << 32) + static_cast<std::uint64_t>(round) + 1;
  return (static_cast<std::uint64_t>(word) + salt) * 0x9e3779b97f4a7c15U;
}

}  // namespace

void ThreadHarness::run(int ranks, const Body& body) {
  testing_support::run_rank_threads(ranks, [&](Bootstrap& bootstrap) {
    const std::unique_ptr<Transport> transport = make_();
    const Status status = transport->connect(bootstrap, options_, in_ms(30'000));
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    body(bootstrap.rank(), *transport);
  });
}

Rank::Rank(int rank_, int size_, Transport& transport_, std::size_t bytes, std::uint32_t ordinal)
    : rank(rank_), size(size_), transport(transport_), can(transport_.capabilities()) {
  segment = check(Segment::create({.bytes = bytes}));
  check(transport.register_segment(segment));
  ChannelKey key{.members = std::vector<int>(static_cast<std::size_t>(size)), .ordinal = ordinal};
  std::iota(key.members.begin(), key.members.end(), 0);
  auto made = transport.open_channel(key, in_ms(30'000));
  opened = made.status();
  if (opened.is_ok()) channel = std::move(made).value();
  if (can.stream_ordered) stream.emplace(check(host_device().create_stream({})));
}

Status Rank::go(std::vector<TransportOp> batch, Deadline deadline) {
  return opened.is_ok() ? go(*channel, std::move(batch), deadline) : opened;
}

void Rank::announce(const Descriptor& d) {
  if (channel != nullptr) channel->announce(d);
}

Status Rank::go(TransportChannel& over, std::vector<TransportOp> batch, Deadline deadline) {
  if (!can.stream_ordered) return over.run(batch, deadline);
  if (Status status = over.submit(batch, stream->view(), deadline); !status.is_ok()) return status;
  return stream->synchronize(in_ms(90'000));
}

Descriptor describe_block(std::uint32_t sequence, std::size_t bytes, int step) {
  return {.op = OpCode::ring_rotate,
          .dtype = DType::bfloat16,
          .reduce_op = ReduceOp::none,
          .sequence = sequence,
          .bytes = bytes,
          .signature = 17,
          .step = step,
          .block = 0};
}

TransportOp offer(int peer, std::byte* from, const Descriptor& d) {
  return operation(TransportOpKind::offer, peer, from, d);
}
TransportOp take(int peer, RemoteView& view, const Descriptor& d) {
  TransportOp op = operation(TransportOpKind::take, peer, nullptr, d);
  op.view = &view;
  return op;
}
TransportOp pull(int peer, std::byte* to, const Descriptor& d) {
  return operation(TransportOpKind::pull, peer, to, d);
}
TransportOp release(int peer, const Descriptor& d) {
  return operation(TransportOpKind::release, peer, nullptr, d);
}
TransportOp reclaim(int peer, const Descriptor& d) {
  return operation(TransportOpKind::reclaim, peer, nullptr, d);
}
TransportOp send(int peer, std::byte* from, const Descriptor& d) {
  return operation(TransportOpKind::send, peer, from, d);
}
TransportOp recv(int peer, std::byte* to, const Descriptor& d) {
  return operation(TransportOpKind::recv, peer, to, d);
}

void fill(std::byte* target, std::size_t bytes, int rank, int round) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = pattern(i / 8, rank, round);
    std::memcpy(target + i, &word, std::min<std::size_t>(8, bytes - i));
  }
}

bool holds(const std::byte* data, std::size_t bytes, int rank, int round) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = pattern(i / 8, rank, round);
    if (std::memcmp(data + i, &word, std::min<std::size_t>(8, bytes - i)) != 0) return false;
  }
  return true;
}

std::int64_t ms_since(std::int64_t started_ns) { return (now_ns() - started_ns) / 1'000'000; }

}  // namespace ringcomm::conformance
