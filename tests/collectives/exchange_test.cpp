// SPDX-License-Identifier: Apache-2.0
// Arguments of broadcast, all_to_all and send_recv: refused at the call, and the communicator works on. Data
// are checked by the suite in tests/conformance; here only what it cannot say: numbering and groupings.
#include "ringcomm/collectives/exchange.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;
using Kind = PointToPoint::Kind;

Status refused(const Result<Work>& got, std::string_view part) {
  return expect(got.status().code() == StatusCode::invalid_argument &&
                    got.status().message().find(part) != std::string::npos,
                concat("\"", part, "\", got ", got.status().to_string()));
}

void run_two(const std::function<Status(Communicator&)>& body) {
  const Status status = run_threads(2, body, with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

struct Memory {
  std::vector<float> in = std::vector<float>(16), out = std::vector<float>(16);
  TensorView input = TensorView::contiguous(in.data(), DType::float32, {8});
  TensorView output = TensorView::contiguous(out.data(), DType::float32, {8});
  static TensorView with(TensorView view, std::int64_t count) {
    view.shape[0] = count;
    return view;
  }
};

TEST(ExchangeArgumentsTest, WrongBroadcastsAreRefusedByName) {
  run_two([](Communicator& comm) -> Status {
    Memory m;
    Channel& channel = comm.channel();
    const int root = comm.rank();  // only the root's input is looked at
    RINGCOMM_TRY(refused(broadcast(channel, m.input, m.output, 2), "root 2 is outside 0 to 1"));
    RINGCOMM_TRY(
        refused(broadcast(channel, Memory::with(m.input, 7), m.output, root), "output has 8 elements, 7"));
    TensorView other = m.output;
    other.dtype = DType::int32;
    RINGCOMM_TRY(refused(broadcast(channel, m.input, other, root), "output is int32, input is float32"));
    other = m.output;
    other.strides[0] = 2;
    RINGCOMM_TRY(refused(broadcast(channel, m.input, other, 1 - root), "output is not contiguous"));
    other = m.input;
    other.data = m.in.data() + 1;
    RINGCOMM_TRY(refused(broadcast(channel, m.input, other, root), "input overlaps output"));
    return broadcast(channel, m.input, m.output, 0).status();
  });
}

TEST(ExchangeArgumentsTest, WrongAllToAllsAreRefusedByName) {
  run_two([](Communicator& comm) -> Status {
    Memory m;
    Channel& channel = comm.channel();
    const auto with_counts = [&](std::vector<std::int64_t> sent, std::vector<std::int64_t> received) {
      return all_to_all(channel, m.input, m.output, sent, received);
    };
    RINGCOMM_TRY(refused(all_to_all(channel, Memory::with(m.input, 7), m.output), "input has 7 elements"));
    RINGCOMM_TRY(refused(all_to_all(channel, m.input, m.input), "input overlaps output"));
    RINGCOMM_TRY(refused(with_counts({8}, {}), "1 send_counts for 2 ranks"));
    RINGCOMM_TRY(refused(with_counts({}, {4, 4, 0}), "3 receive_counts for 2 ranks"));
    RINGCOMM_TRY(refused(with_counts({9, -1}, {}), "send_counts of rank 1 is -1"));
    RINGCOMM_TRY(refused(with_counts({4, 3}, {}), "input has 8 elements, 7 are needed"));
    RINGCOMM_TRY(refused(with_counts({5, 3}, {3, 5}), "sends itself"));
    return all_to_all(channel, m.input, m.output).status();
  });
}

TEST(ExchangeArgumentsTest, WrongMessagesAreRefusedByName) {
  run_two([](Communicator& comm) -> Status {
    Memory m;
    Channel& channel = comm.channel();
    RINGCOMM_TRY(refused(send(channel, m.input, 2), "send with member 2 of 2"));
    RINGCOMM_TRY(refused(receive(channel, m.output, -1), "recv with member -1 of 2"));
    RINGCOMM_TRY(refused(send(channel, m.input, comm.rank()), "1 sends to itself and 0 receives"));
    TensorView other = Memory::with(m.output, 4);
    other.strides[0] = 2;
    RINGCOMM_TRY(refused(receive(channel, other, 1 - comm.rank()), "is not contiguous"));
    other = m.output;
    other.dtype = DType::int32;
    const PointToPoint types[] = {{.kind = Kind::send, .peer = comm.rank(), .tensor = m.input},
                                  {.kind = Kind::receive, .peer = comm.rank(), .tensor = other}};
    RINGCOMM_TRY(refused(send_recv(channel, types), "sends itself float32 and receives int32"));
    other.data = nullptr;
    RINGCOMM_TRY(refused(send(channel, other, 1 - comm.rank()), "null pointer"));
    return barrier(channel).status();
  });
}

/// A call with two messages meets two calls with one: messages are counted, not calls.
TEST(SendRecvTest, OverInprocGroupingsMayDiffer) {
  run_two([](Communicator& comm) -> Status {
    Memory m;
    Channel& channel = comm.channel();
    for (int round = 0; round < 50; ++round) {
      m.in[0] = value_of(comm.rank(), round);
      const TensorView one = Memory::with(m.input, 1);
      const TensorView got = Memory::with(m.output, 1);
      if (comm.rank() == 0) {
        PointToPoint group[] = {{.kind = Kind::send, .peer = 1, .tensor = one},
                                {.kind = Kind::receive, .peer = 1, .tensor = got}};
        if (round % 2 == 1) std::swap(group[0], group[1]);  // the order inside a group means nothing
        RINGCOMM_TRY(send_recv(channel, group).status());
      } else {
        RINGCOMM_TRY(receive(channel, got, 0).status());
        RINGCOMM_TRY(send(channel, one, 0).status());
      }
      RINGCOMM_TRY(expect(m.out[0] == value_of(1 - comm.rank(), round), concat("round ", round)));
    }
    return barrier(channel).status();
  });
}

/// Collectives of all members between messages of two: their numbers stay apart.
TEST(SendRecvTest, MessagesOfTwoDoNotMoveTheOthersSequence) {
  const Status status = run_threads(
      3,
      [](Communicator& comm) -> Status {
        Memory m;
        for (int round = 0; round < 20; ++round) {
          if (comm.rank() != round % 3) {
            const int low = round % 3 == 0 ? 1 : 0;
            const int high = round % 3 == 2 ? 1 : 2;
            if (comm.rank() == low) RINGCOMM_TRY(send(comm.channel(), m.input, high).status());
            if (comm.rank() == high) RINGCOMM_TRY(receive(comm.channel(), m.output, low).status());
          }
          random_delay(static_cast<std::uint32_t>(round * 3 + comm.rank()));
          RINGCOMM_TRY(barrier(comm.channel()).status());
        }
        return {};
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
