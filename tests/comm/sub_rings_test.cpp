// SPDX-License-Identifier: Apache-2.0
// 64 sub-rings on one communicator: what they cost (resident memory and threads of the process, from
// /proc/self), and that a stalled one holds up no other. Concurrency is offered by streams: what is queued on
// one leaves the caller free for the other rings.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/device/device.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr int kRings = 64;
constexpr int kRanks = 4;

/// A number that /proc/self/status gives for `key`; -1 when it is not there.
long status_value(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stol(line.substr(key.size() + 1));
  return -1;
}

CommunicatorOptions ring_options() {
  CommunicatorOptions options = with_deadline(std::chrono::seconds(60));
  options.transports = {inproc_transport()};
  options.arena_bytes = 16 << 20;
  return options;
}

/// Of every size, in several orders.
std::vector<int> members_of_ring(int ring) {
  static const std::vector<std::vector<int>> kShapes{{0, 1, 2, 3}, {3, 1, 0, 2}, {0, 1}, {2, 3},
                                                     {1, 3},       {2, 0, 1},    {3},    {0, 2, 3}};
  return kShapes[static_cast<std::size_t>(ring) % kShapes.size()];
}

bool is_member(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

Result<std::vector<Channel*>> open_rings(Communicator& comm) {
  std::vector<Channel*> rings;
  for (int ring = 0; ring < kRings; ++ring) {
    const std::vector<int> members = members_of_ring(ring);
    rings.push_back(nullptr);
    if (!is_member(members, comm.rank())) continue;
    RINGCOMM_TRY_ASSIGN(rings.back(), comm.open_channel(members, static_cast<std::uint32_t>(ring + 1)));
  }
  return rings;
}

Status rotate(Communicator& comm, Channel& ring, const Window& window) {
  auto* const data = window.span<float>().data();
  for (int i = 0; i < 64; ++i) data[i] = value_of(comm.rank(), i);
  const TensorView k = TensorView::contiguous(data, DType::float32, {4, 1, 8});
  const TensorView v = TensorView::contiguous(data + 32, DType::float32, {4, 1, 8});
  RotationOptions options;
  options.mode = RotationChoice::relay;  // needs slots: the dearer one
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(ring, k, v, options));
  RINGCOMM_TRY(rotation.start());
  while (RotationStep step = rotation.next()) {
    const RotationPart& part = step.parts()[0];
    RINGCOMM_TRY(
        expect(static_cast<const float*>(part.k.data)[3] == value_of(ring.member(part.source), 3), "k"));
  }
  return rotation.status();
}

TEST(SubRingsTest, SixtyFourCostLittleMemoryAndNoThreads) {
  std::atomic<long> resident_before{0}, resident_after{0}, threads_before{0}, threads_after{0};
  std::latch all_created(kRanks), all_measured(kRanks), all_ran(kRanks);
  const Status status = run_threads(
      kRanks,
      [&](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(4096));
        // The one thread that a communicator may have is started by its first overlapped relay.
        RINGCOMM_TRY(rotate(comm, comm.channel(), window));
        all_created.arrive_and_wait();
        if (comm.rank() == 0) {
          resident_before = status_value("VmRSS");
          threads_before = status_value("Threads");
        }
        all_measured.arrive_and_wait();
        const std::size_t arena_before = comm.counters().arena_high_water_bytes;
        RINGCOMM_TRY_ASSIGN(const auto rings, open_rings(comm));
        for (Channel* const ring : rings) {
          if (ring == nullptr) continue;
          RINGCOMM_TRY(rotate(comm, *ring, window));
          RINGCOMM_TRY(barrier(*ring).status());
        }
        all_ran.arrive_and_wait();
        if (comm.rank() == 0) {
          resident_after = status_value("VmRSS");
          threads_after = status_value("Threads");
        }
        RINGCOMM_TRY(expect(comm.counters().arena_bytes == 16U << 20, "the arena grew"));
        RINGCOMM_TRY(barrier(comm.channel()).status());
        return expect(comm.counters().arena_high_water_bytes - arena_before < (16U << 20), "arena");
      },
      ring_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  ASSERT_GT(resident_before.load(), 0);
  const long kib = resident_after - resident_before;  // of four ranks together
  RecordProperty("kib_of_64_rings_on_4_ranks", static_cast<int>(kib));
  std::printf("64 sub-rings on %d ranks: %ld KiB in all\n", kRanks, kib);
  EXPECT_LT(kib, (test::kAddressSanitizer ? 256 : 32) * 1024L) << "the limit is 64 MB for one rank";
  EXPECT_EQ(threads_after.load(), threads_before.load());
}

// Ring 0 has all ranks, and rank 3 comes to it only when all others have finished everything else.
TEST(SubRingsTest, AStalledOneHoldsUpNoOther) {
  std::latch others_finished(kRanks);
  std::atomic<int> early{0};
  const Status status = run_threads(
      kRanks,
      [&](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(4096));
        RINGCOMM_TRY_ASSIGN(const auto rings, open_rings(comm));
        RINGCOMM_TRY_ASSIGN(Stream stream, host_device().create_stream({}));
        CallOptions call;
        call.stream = stream.view();
        Work stalled;
        if (comm.rank() != 3) {
          RINGCOMM_TRY_ASSIGN(stalled, barrier(*rings[0], call));
        }
        for (int round = 0; round < 3; ++round) {
          for (std::size_t ring = 1; ring < rings.size(); ++ring) {
            if (rings[ring] == nullptr) continue;
            random_delay(static_cast<std::uint32_t>(comm.rank() + 10 * round));
            RINGCOMM_TRY(rotate(comm, *rings[ring], window));
          }
        }
        if (comm.rank() != 3 && stalled.test()) ++early;
        others_finished.arrive_and_wait();
        if (comm.rank() == 3) {
          RINGCOMM_TRY_ASSIGN(stalled, barrier(*rings[0], call));
        }
        return stalled.wait(Deadline::after(std::chrono::seconds(30)));
      },
      ring_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(early.load(), 0) << "the stalled ring did not stall";
}

// Also without a stream: a rotation between two steps holds its channel only.
TEST(SubRingsTest, ARotationPausedBetweenStepsHoldsUpNoOther) {
  const Status status = run_threads(
      kRanks,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(4096));
        RINGCOMM_TRY_ASSIGN(const Window held, comm.allocate(4096));
        RINGCOMM_TRY_ASSIGN(const auto rings, open_rings(comm));
        auto* const data = held.span<float>().data();
        const TensorView k = TensorView::contiguous(data, DType::float32, {4, 1, 8});
        const TensorView v = TensorView::contiguous(data + 32, DType::float32, {4, 1, 8});
        RINGCOMM_TRY_ASSIGN(auto paused, RingRotation::create(*rings[0], k, v));
        RINGCOMM_TRY(paused.start());
        RotationStep step = paused.next();
        RINGCOMM_TRY(expect(static_cast<bool>(step), "first step"));
        for (std::size_t ring = 1; ring < rings.size(); ++ring)
          if (rings[ring] != nullptr) RINGCOMM_TRY(rotate(comm, *rings[ring], window));
        while ((step = paused.next())) {
        }
        return paused.status();
      },
      ring_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
