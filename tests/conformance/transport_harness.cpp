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

/// The pattern is made in chunks that are copied or compared whole, since the tests run unoptimised.
class Pattern {
 public:
  static constexpr std::size_t kChunkBytes = 512;
  Pattern(int rank, int round)
      : value_(((static_cast<std::uint64_t>(rank) << 32) + static_cast<std::uint64_t>(round) + 1) * kFactor) {
  }
  const std::uint64_t* next_chunk(std::size_t bytes) {
    for (std::size_t i = 0; i < (bytes + 7) / 8; ++i) chunk_[i] = value_ += kFactor;
    return chunk_;
  }

 private:
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
  std::uint64_t value_;
  std::uint64_t chunk_[kChunkBytes / 8]{};
};

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
  Pattern pattern(rank, round);
  for (std::size_t at = 0; at < bytes; at += Pattern::kChunkBytes) {
    const std::size_t span = std::min(Pattern::kChunkBytes, bytes - at);
    std::memcpy(target + at, pattern.next_chunk(span), span);
  }
}

bool holds(const std::byte* data, std::size_t bytes, int rank, int round) {
  Pattern pattern(rank, round);
  for (std::size_t at = 0; at < bytes; at += Pattern::kChunkBytes) {
    const std::size_t span = std::min(Pattern::kChunkBytes, bytes - at);
    if (std::memcmp(data + at, pattern.next_chunk(span), span) != 0) return false;
  }
  return true;
}

std::int64_t ms_since(std::int64_t started_ns) { return (now_ns() - started_ns) / 1'000'000; }

}  // namespace ringcomm::conformance
