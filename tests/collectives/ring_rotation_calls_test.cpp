// SPDX-License-Identifier: Apache-2.0
// Wrong arguments and calls at the wrong time: refused by name, and the communicator and the rotation go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"

namespace ringcomm {
namespace {

using namespace test;

Status refused(Channel& channel, const TensorView& k, const TensorView& v, const RotationOptions& options,
               StatusCode code, std::string_view part) {
  const Status got = RingRotation::create(channel, k, v, options).status();
  return expect(got.code() == code && got.message().find(part) != std::string::npos,
                concat("\"", part, "\", got ", got.to_string()));
}

TEST(RingRotationOptionsTest, ChunksAreTheChannelsUnlessTheRotationNamesThem) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        ChannelOptions cut;
        cut.chunk_bytes = 32;
        RINGCOMM_TRY_ASSIGN(Channel* const channel, comm.open_channel({0, 1}, 1, cut));
        std::vector<float> memory(32);  // a block of 128 bytes
        const TensorView k = TensorView::contiguous(memory.data(), DType::float32, {2, 2, 4});
        const TensorView v = TensorView::contiguous(memory.data() + 16, DType::float32, {2, 2, 4});
        const auto largest = [&](Channel& on, std::size_t chunk_bytes) -> Result<std::uint64_t> {
          RotationOptions options;
          options.mode = RotationChoice::relay;
          options.chunk_bytes = chunk_bytes;
          RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(on, k, v, options));
          RINGCOMM_TRY(rotation.run([](const RotationStep&) {}));
          std::uint64_t bytes = 0;
          for (const plan::Op& op : rotation.slice().ops)
            if (op.kind != plan::OpKind::compute) bytes = std::max(bytes, op.bytes);
          return bytes;
        };
        RINGCOMM_TRY_ASSIGN(const std::uint64_t of_channel, largest(*channel, 0));
        RINGCOMM_TRY_ASSIGN(const std::uint64_t of_rotation, largest(*channel, 64));
        RINGCOMM_TRY_ASSIGN(const std::uint64_t whole, largest(comm.channel(), 0));
        return expect(of_channel == 32 && of_rotation == 64 && whole == 128,
                      concat(of_channel, " ", of_rotation, " ", whole));
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingRotationArgumentsTest, WrongOnesAreRefusedByNameAndBreakNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        Channel& channel = comm.channel();
        std::vector<float> memory(64);
        const TensorView k = TensorView::contiguous(memory.data(), DType::float32, {2, 2, 4});
        const TensorView v = TensorView::contiguous(memory.data() + 16, DType::float32, {2, 2, 4});
        constexpr StatusCode kWrong = StatusCode::invalid_argument;
        TensorView other = v;
        other.axes = 2;
        RINGCOMM_TRY(refused(channel, k, other, {}, kWrong, "k has 3 axes, v has 2"));
        other = v;
        other.dtype = DType::bfloat16;
        RINGCOMM_TRY(refused(channel, k, other, {}, kWrong, "k is float32, v is bfloat16"));
        other = v;
        other.shape[0] = 3;
        RINGCOMM_TRY(refused(channel, k, other, {}, kWrong, "k has 2 rows, v has 3"));
        other = v;
        other.shape[1] = 1;
        RINGCOMM_TRY(refused(channel, k, other, {}, kWrong, "k has 2 heads, v has 1"));
        RotationOptions options;
        options.rows = {2, 2, 2};
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "3 row counts for 2 ranks"));
        options.rows = {2, 3};
        options.rows[static_cast<std::size_t>(comm.rank())] = 1;
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "have 2 rows, its row count is 1"));
        options.rows = {-1, -1};
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "block of rank 0 has -1 rows"));
        options.rows = {2, 2};
        options.rows[static_cast<std::size_t>(1 - comm.rank())] = std::int64_t{1} << 59;
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "is larger than"));
        options = {};
        options.direction = 2;
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "direction is 2"));
        options = {};
        options.needed = {1};
        RINGCOMM_TRY(refused(channel, k, v, options, kWrong, "needed has 1 entries"));
        RINGCOMM_TRY(comm.health());
        return RingRotation::create(channel, k, v).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingRotationArgumentsTest, DirectNeedsATransportThatReadsInPlace) {
  const Status status =
      run_on({"grouped", 2, {testing_support::grouped_fake_transport()}}, [](Communicator& comm) {
        std::vector<float> memory(32);
        RotationOptions options;
        options.mode = RotationChoice::direct;
        return refused(comm.channel(), TensorView::contiguous(memory.data(), DType::float32, {2, 2, 4}),
                       TensorView::contiguous(memory.data() + 16, DType::float32, {2, 2, 4}), options,
                       StatusCode::not_available, "mode direct needs a transport");
      });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// Rank 0 keeps rank 1's block while rank 1 waits for the end: with release() the end comes before rank 0 goes
// on.
TEST(RingRotationReleaseTest, ReleaseGivesTheBlockBackBeforeTheNextStep) {
  std::atomic<bool> has_ended{false};
  const Status status = run_threads(
      2,
      [&](Communicator& comm) -> Status {
        std::vector<float> memory(32);
        RINGCOMM_TRY_ASSIGN(
            auto rotation,
            RingRotation::create(comm.channel(),
                                 TensorView::contiguous(memory.data(), DType::float32, {2, 2, 4}),
                                 TensorView::contiguous(memory.data() + 16, DType::float32, {2, 2, 4})));
        RINGCOMM_TRY(rotation.start());
        while (RotationStep step = rotation.next()) {
          if (comm.rank() == 1 || step.index() == 0) continue;
          step.release();
          step.release();
          const Deadline patience = Deadline::after(std::chrono::seconds(20));
          while (!has_ended && !patience.is_expired()) std::this_thread::yield();
        }
        RINGCOMM_TRY(rotation.status());
        if (comm.rank() == 1) has_ended = true;
        return expect(has_ended, "rank 1 did not get its block back");
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingRotationArgumentsTest, StartAndOtherOperationsInsideAreRefusedAndTheRotationGoesOn) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        std::vector<float> memory(32);
        RINGCOMM_TRY_ASSIGN(
            auto rotation,
            RingRotation::create(comm.channel(),
                                 TensorView::contiguous(memory.data(), DType::float32, {2, 2, 4}),
                                 TensorView::contiguous(memory.data() + 16, DType::float32, {2, 2, 4})));
        RINGCOMM_TRY(rotation.start());
        RINGCOMM_TRY(expect(rotation.start().code() == StatusCode::invalid_argument, "start() twice"));
        int steps = 0;
        while (RotationStep step = rotation.next()) {
          const Status inside = barrier(comm.channel()).status();
          RINGCOMM_TRY(
              expect(inside.message().find("inside operation #1 of the same channel") != std::string::npos,
                     inside.to_string()));
          ++steps;
        }
        RINGCOMM_TRY(rotation.status());
        RINGCOMM_TRY(barrier(comm.channel()).status());
        return expect(steps == 2, concat(steps, " steps"));
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
