// SPDX-License-Identifier: Apache-2.0
// The oracle is operator new itself, replaced in this program: after a warm-up, nothing may call it.
#include <gtest/gtest.h>

#include <atomic>

#include "device/gate.hpp"
#include "ringcomm/device/arena.hpp"
#include "ringcomm/device/device.hpp"
#include "ringcomm/device/worker_team.hpp"
#include "support/allocation_count.hpp"

namespace ringcomm {
namespace {

/// Allocations of all threads during 200 rounds of `body`, after 3 rounds that may allocate.
template <class Body>
long allocations_in_steady_state(Body body) {
  for (int i = 0; i < 3; ++i) body();
  const long before = test::allocations();
  for (int i = 0; i < 200; ++i) body();
  return test::allocations() - before;
}

TEST(DeviceAllocationTest, TheCounterCounts) {
  EXPECT_EQ(allocations_in_steady_state([] { ::operator delete(::operator new(4)); }), 200);
}

TEST(DeviceAllocationTest, StreamsAndEventsNeverAllocate) {
  Stream a = check(host_device().create_stream({.placement = {}, .queue_tasks_max = 8}));
  Stream b = check(host_device().create_stream({.placement = {}, .queue_tasks_max = 8}));
  Event event = check(host_device().create_event());
  std::array<std::byte, 64> from{}, to{};
  int runs = 0;
  const auto round = [&] {
    for (int i = 0; i < 10; ++i) check(a.enqueue([&runs] { return ++runs, Status(); }, patience()));
    check(host_device().copy(to.data(), from.data(), to.size(), a.view()));
    check(event.record(a.view()));
    check(event.wait(b.view()));
    check(b.enqueue([&runs] { return ++runs, Status(); }, patience()));
    check(event.record(b.view()));
    check(event.wait({}));
    check(b.synchronize(patience()));
    static_cast<void>(event.is_done() && a.status().is_ok());
  };
  EXPECT_EQ(allocations_in_steady_state(round), 0);
  EXPECT_EQ(runs, 203 * 11);
}

TEST(DeviceAllocationTest, AWorkerTeamNeverAllocates) {
  const auto team = check(WorkerTeam::create(3, {}));
  std::atomic<int> calls{0};
  const std::function<void(std::int64_t, int)> body = [&calls](std::int64_t, int) { ++calls; };
  EXPECT_EQ(allocations_in_steady_state([&] { team->for_each(7, body); }), 0);
  EXPECT_EQ(calls, 203 * 7);
}

TEST(DeviceAllocationTest, AnArenaReusesItsRangesWithoutAllocating) {
  Arena arena(check(Segment::create({.bytes = 1 << 16, .kind = SegmentKind::local})));
  const auto round = [&arena] {
    std::array<ArenaBlock, 9> blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = check(arena.allocate(i * 100));
    for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = ArenaBlock();
    for (std::size_t i = 1; i < blocks.size(); i += 2) blocks[i] = ArenaBlock();
  };
  EXPECT_EQ(allocations_in_steady_state(round), 0);
  EXPECT_EQ(arena.used_bytes(), 0U);
}

}  // namespace
}  // namespace ringcomm
