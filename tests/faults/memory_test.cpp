// SPDX-License-Identifier: Apache-2.0
// What a rotation costs in memory and copies, measured from outside: the sum over ranks of Pss (smaps_rollup;
// pages that n processes share count 1/n in each), and the transport's counters. Oracle: block sizes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr BlockShape kShape{.rows = 2048, .heads = 2, .dim = 64};
constexpr std::int64_t kBlockBytes = 2048 * 2 * (64 + 64) * 4;  // K and V: 2 MiB

/// Anonymous and shared memory of this process, by its share of each page; code and files left out.
std::int64_t own_pss_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::int64_t sum = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Pss_Anon:") || line.starts_with("Pss_Shmem:"))
      sum += 1024 * std::stoll(line.substr(line.find(':') + 1));
  }
  return sum;
}

/// Collective: nobody's pages change between the barriers.
Result<std::int64_t> pss_of_all(Communicator& comm) {
  RINGCOMM_TRY(barrier(comm.channel()).status());
  std::int64_t own = own_pss_bytes();
  RINGCOMM_TRY(barrier(comm.channel()).status());
  std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
  RINGCOMM_TRY(all_gather(comm.channel(), TensorView::contiguous(&own, DType::int64, {1}),
                          TensorView::contiguous(all.data(), DType::int64, {comm.size()}))
                   .status());
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

/// Reads one element of each page of every block: all pages are looked at, quickly.
Status walk(Communicator& comm, const Block& block, RingRotation& rotation) {
  constexpr std::size_t kPerPage = 4096 / sizeof(float);
  const std::span<float> own = block.window.span<float>();
  for (std::size_t i = 0; i < own.size(); i += kPerPage) own[i] = static_cast<float>(comm.rank() + 1);
  RINGCOMM_TRY(rotation.start());
  while (RotationStep step = rotation.next()) {
    for (const TensorView* view : {&step.parts()[0].k, &step.parts()[0].v}) {
      const std::span elements(static_cast<const float*>(view->data), view->bytes() / sizeof(float));
      for (std::size_t i = 0; i < elements.size(); i += kPerPage) {
        if (elements[i] != static_cast<float>(step.source() + 1)) return Status::internal("wrong element");
      }
    }
  }
  return rotation.status();
}

struct Cost {
  std::int64_t pss = 0;     ///< bytes that all ranks together gained
  std::int64_t arena = 0;   ///< bytes that this rank's arena gained
  std::int64_t copied = 0;  ///< by this rank, per rotation
  std::int64_t viewed = 0;
  std::int64_t packed = 0;
};

/// What making a rotation and walking it twice costs; everything it needs besides is touched before.
Result<Cost> cost_of(Communicator& comm, RotationChoice mode) {
  RotationOptions options;
  options.mode = mode;
  {  // code, heap, streams, the channel's state
    RINGCOMM_TRY_ASSIGN(const Block small, make_block(comm));
    RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), small.k, small.v, options));
    RINGCOMM_TRY(rotate_checked(comm, small, rotation, 0));
  }
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm, kShape));
  RINGCOMM_TRY(pss_of_all(comm).status());
  RINGCOMM_TRY_ASSIGN(const std::int64_t pss_before, pss_of_all(comm));
  const CommunicatorCounters before = comm.counters();
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int round = 0; round < 2; ++round) RINGCOMM_TRY(walk(comm, block, rotation));
  const CommunicatorCounters after = comm.counters();
  RINGCOMM_TRY_ASSIGN(const std::int64_t pss_after, pss_of_all(comm));
  const auto gained = [](std::uint64_t now, std::uint64_t then) {
    return static_cast<std::int64_t>(now - then);
  };
  return Cost{.pss = pss_after - pss_before,
              .arena = gained(after.arena_bytes, before.arena_bytes),
              .copied = gained(after.transport.bytes_copied, before.transport.bytes_copied) / 2,
              .viewed = gained(after.transport.bytes_viewed, before.transport.bytes_viewed) / 2,
              .packed = gained(after.bytes_packed, before.bytes_packed)};
}

Status expect_near(std::string_view what, std::int64_t got, std::int64_t wanted, std::int64_t slack) {
  if (std::abs(got - wanted) <= slack) return {};
  return Status::internal(concat(what, " is ", got, " bytes, not ", wanted, " (within ", slack, ")"));
}

/// Within three quarters of one block, for all ranks together: not one of them may have a copy.
Status expect_pss(std::int64_t gained, std::int64_t wanted) {
  if (kAddressSanitizer) return {};  // it keeps what is freed, and shadows what is used
  return expect_near("the sum of Pss gained", gained, wanted, kBlockBytes * 3 / 4);
}

class RotationMemoryTest : public testing::TestWithParam<int> {
 protected:
  void run(const Body& body) {
    const LeftBehind before;
    const Status status = run_processes(GetParam(), body, patient());
    EXPECT_EQ(status.to_string(), "ok");
    EXPECT_EQ(before.differences(), "");
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, RotationMemoryTest, testing::Values(2, 8), testing::PrintToStringParamName());

TEST_P(RotationMemoryTest, DirectFromAWindowCopiesNothingAndAddsNoBlock) {
  run([](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(const Cost cost, cost_of(comm, RotationChoice::direct));
    RINGCOMM_TRY(expect_near("copied", cost.copied, 0, 0));
    RINGCOMM_TRY(expect_near("packed", cost.packed, 0, 0));
    RINGCOMM_TRY(expect_near("viewed", cost.viewed, (comm.size() - 1) * kBlockBytes, 0));
    RINGCOMM_TRY(expect_near("the arena's growth", cost.arena, 0, 0));
    return expect_pss(cost.pss, 0);
  });
}

TEST_P(RotationMemoryTest, RelayAddsTwoSlotsPerRankAndCopiesEachOtherBlockOnce) {
  run([](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(const Cost cost, cost_of(comm, RotationChoice::relay));
    RINGCOMM_TRY(expect_near("copied", cost.copied, (comm.size() - 1) * kBlockBytes, 0));
    RINGCOMM_TRY(expect_near("packed", cost.packed, 0, 0));
    RINGCOMM_TRY(expect_near("the arena's growth", cost.arena, 2 * kBlockBytes, 16 << 10));
    return expect_pss(cost.pss, 2 * kBlockBytes * comm.size());
  });
}

TEST_P(RotationMemoryTest, ARotationThatIsGoneGivesItsSlotsToTheNext) {
  run([](Communicator& comm) -> Status {
    RINGCOMM_TRY(cost_of(comm, RotationChoice::relay).status());
    RINGCOMM_TRY_ASSIGN(const Cost again, cost_of(comm, RotationChoice::relay));
    RINGCOMM_TRY(expect_near("the arena's growth", again.arena, 0, 0));
    return expect_pss(again.pss, 0);
  });
}

#ifdef NDEBUG
constexpr bool kFillsFreed = false;
#else
constexpr bool kFillsFreed = true;
#endif

/// The first slot that a relay handed out, and the rotation that owned it is gone.
Result<const float*> freed_slot(Communicator& comm, const Block& block, int round, std::size_t& elements) {
  RotationOptions options;
  options.mode = RotationChoice::relay;
  options.overlap = round % 2 == 0 ? plan::Overlap::on : plan::Overlap::off;
  options.chunk_bytes = round % 3 == 0 ? 100 : 0;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  const float* slot = nullptr;
  fill_block(block, comm.rank(), round);
  RINGCOMM_TRY(rotation.start());
  while (RotationStep step = rotation.next()) {
    RINGCOMM_TRY(check_step(step, round));  // a NaN of a freed slot would show here
    if (step.source() == comm.rank()) continue;
    slot = static_cast<const float*>(step.parts().front().k.data);
    elements = static_cast<std::size_t>(step.parts().front().k.element_count());
  }
  RINGCOMM_TRY(rotation.status());
  return slot;
}

class FreedSlotTest : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Media, FreedSlotTest, testing::Values(Medium::threads, Medium::processes),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(FreedSlotTest, IsFilledWithNaNInDebugAndNobodyReadsIt) {
  const auto all = outcomes(
      GetParam(), 4,
      [](Communicator& comm) -> Status {
        // Sizes differ from round to round, so that slots of one round lie over freed ones of another.
        for (int round = 0; round < 12; ++round) {
          RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm, {.rows = 16 + 5 * (round % 4)}));
          std::size_t elements = 0;
          RINGCOMM_TRY_ASSIGN(const float* const slot, freed_slot(comm, block, round, elements));
          if (slot == nullptr || elements == 0) return Status::internal("no slot was seen");
          for (std::size_t i = 0; kFillsFreed && i < elements; ++i) {
            if (!std::isnan(slot[i]))
              return Status::internal(concat("round ", round, ": element ", i, " of a freed slot is ",
                                             static_cast<double>(slot[i])));
          }
        }
        return {};
      },
      patient());
  for (const RankOutcome& rank : all) EXPECT_EQ(rank.said, "ok");
}

}  // namespace
}  // namespace ringcomm
