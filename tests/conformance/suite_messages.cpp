// SPDX-License-Identifier: Apache-2.0
// send_recv: rings, all pairs, many at once, to oneself, and members that take no part.
#include <vector>

#include "conformance/suite_case.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::conformance {
namespace {

using Kind = PointToPoint::Kind;

/// A part of one of the suite's tensors.
TensorView part_of(const TensorView& whole, std::int64_t first, std::int64_t count) {
  TensorView part = whole;
  part.shape[0] = count;
  part.data = static_cast<std::byte*>(whole.data) +
              static_cast<std::size_t>(first * whole.strides[0]) * bytes_of(whole.dtype);
  return part;
}

Status shift_ring(Suite& suite, DType dtype, std::int64_t count, Place place, int distance, bool in_stream) {
  const int to = (suite.rank() + distance) % suite.ranks();
  const int from = (suite.rank() + suite.ranks() - distance % suite.ranks()) % suite.ranks();
  const TensorView sent = suite.tensor(0, dtype, count, place);
  const TensorView received = suite.tensor(1, dtype, count, place == Place::strided ? Place::shifted : place);
  fill_pattern(sent, suite.rank(), distance);
  const PointToPoint group[] = {{.kind = Kind::receive, .peer = from, .tensor = received},
                                {.kind = Kind::send, .peer = to, .tensor = sent}};
  RINGCOMM_TRY(Suite::finish(send_recv(suite.channel(), group, suite.options(in_stream))));
  RINGCOMM_TRY(check_pattern(received, 0, count, from, distance));
  return expect(suite.are_guards_whole(1, received), "bytes outside of the received tensor were written");
}

/// Everybody to everybody, itself too, `each` messages of growing size with one call for all of them.
Status all_pairs(Suite& suite, int each) {
  const TensorView sent = suite.tensor(0, DType::int32, 1000, Place::window);
  const TensorView received = suite.tensor(1, DType::int32, 1000, Place::window);
  std::vector<PointToPoint> group;
  const auto add = [&](Kind kind, const TensorView& whole) {
    std::int64_t first = 0;
    for (int peer = 0; peer < suite.ranks(); ++peer) {
      for (int k = 0; k < each; ++k) {
        const TensorView part = part_of(whole, first, k % 4);
        if (kind == Kind::send) fill_pattern(part, suite.rank(), peer * 100 + k);
        group.push_back({.kind = kind, .peer = peer, .tensor = part});
        first += k % 4;
      }
    }
  };
  add(Kind::send, sent);
  add(Kind::receive, received);
  RINGCOMM_TRY(Suite::finish(send_recv(suite.channel(), group)));
  for (const PointToPoint& message : group) {
    if (message.kind == Kind::send) continue;
    const auto k = static_cast<int>((&message - group.data()) % each);
    RINGCOMM_TRY(
        check_pattern(message.tensor, 0, message.tensor.shape[0], message.peer, suite.rank() * 100 + k));
  }
  return {};
}

/// Only the first two members talk, back and forth, `rounds` times; the others go on to the barrier.
Status ping_pong(Suite& suite, int rounds) {
  if (suite.ranks() > 1 && suite.rank() < 2) {
    const TensorView tensor = suite.tensor(0, DType::float32, 9, Place::shifted);
    for (int round = 0; round < rounds; ++round) {
      if (suite.rank() == round % 2) {
        fill_pattern(tensor, suite.rank(), round);
        RINGCOMM_TRY(Suite::finish(send(suite.channel(), tensor, 1 - suite.rank())));
      } else {
        RINGCOMM_TRY(Suite::finish(receive(suite.channel(), tensor, 1 - suite.rank())));
        RINGCOMM_TRY(check_pattern(tensor, 0, 9, 1 - suite.rank(), round));
      }
    }
  }
  return Suite::finish(barrier(suite.channel()));
}

/// A chain 0 -> 1 -> 2 ...: each waits for its predecessor, with one call each.
Status chain(Suite& suite) {
  const TensorView tensor = suite.tensor(0, DType::float64, 11, Place::window);
  if (suite.rank() == 0) {
    fill_pattern(tensor, 0, 9);
  } else {
    RINGCOMM_TRY(Suite::finish(receive(suite.channel(), tensor, suite.rank() - 1)));
    RINGCOMM_TRY(check_pattern(tensor, 0, 11, 0, 9));
  }
  if (suite.rank() + 1 < suite.ranks())
    RINGCOMM_TRY(Suite::finish(send(suite.channel(), tensor, suite.rank() + 1)));
  return {};
}

}  // namespace

Status suite_of_messages(Suite& suite) {
  for (const DType dtype : {DType::uint8, DType::float16, DType::int64}) {
    for (const std::int64_t count : {0, 1, 37, 3001}) {
      for (const Place place : kPlaces) {
        for (const int distance : {1, 2}) {
          RINGCOMM_TRY(suite.run(
              concat("send_recv ring ", name_of(dtype), " ", count, " by ", distance),
              [&] { return shift_ring(suite, dtype, count, place, distance, dtype == DType::float16); }));
        }
      }
    }
  }
  RINGCOMM_TRY(suite.run("send_recv nothing", [&] { return Suite::finish(send_recv(suite.channel(), {})); }));
  for (const int each : {1, 3, 20})
    RINGCOMM_TRY(suite.run(concat("send_recv all pairs ", each), [&] { return all_pairs(suite, each); }));
  for (int repeat = 0; repeat < 3; ++repeat) {
    RINGCOMM_TRY(suite.run("send_recv chain", [&] { return chain(suite); }));
    RINGCOMM_TRY(suite.run("send_recv ping pong", [&] { return ping_pong(suite, 2 + repeat); }));
  }
  return {};
}

}  // namespace ringcomm::conformance
