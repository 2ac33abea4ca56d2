// SPDX-License-Identifier: Apache-2.0
// Oracle: every element says its rank and index, so each step's block is compared with what its owner holds.
// Counters tell what was copied. Ranks are threads with random delays.
#include "ringcomm/collectives/ring_rotation.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kKDim = 3;
constexpr std::int64_t kVDim = 5;
constexpr std::int64_t kRowElements = kHeads * (kKDim + kVDim);

enum class Memory { window, private_memory, strided };

struct Scene {
  int ranks = 1;
  std::vector<std::int64_t> rows;
  RotationOptions options;
  Memory memory = Memory::window;
  int repeats = 3;
};

struct OwnBlock {
  Window window;
  std::vector<float> memory;
  TensorView k, v;
};

void fill(OwnBlock& block, int rank, std::int64_t salt) {
  std::int64_t index = salt;
  for (const TensorView* view : {&block.k, &block.v}) {
    for (std::int64_t row = 0; row < view->shape[0]; ++row) {
      for (std::int64_t head = 0; head < view->shape[1]; ++head) {
        for (std::int64_t d = 0; d < view->shape[2]; ++d) {
          static_cast<float*>(
              view->data)[row * view->strides[0] + head * view->strides[1] + d * view->strides[2]] =
              value_of(rank, index++);
        }
      }
    }
  }
}

Result<OwnBlock> make_block(Communicator& comm, std::int64_t rows, Memory memory) {
  OwnBlock block;
  float* data = nullptr;
  const auto elements = static_cast<std::size_t>(rows * kRowElements);
  if (memory == Memory::window) {
    RINGCOMM_TRY_ASSIGN(block.window, comm.allocate(elements * sizeof(float)));
    data = block.window.span<float>().data();
  } else {
    block.memory.resize(2 * elements + 1);
    data = block.memory.data();
  }
  block.k = TensorView::contiguous(data, DType::float32, {rows, kHeads, kKDim});
  block.v = TensorView::contiguous(data + rows * kHeads * kKDim, DType::float32, {rows, kHeads, kVDim});
  if (memory == Memory::strided) {  // K and V of a row lie together, as a fused projection leaves them
    block.v.data = data + kHeads * kKDim;
    block.k.strides[0] = block.v.strides[0] = kRowElements;
  }
  return block;
}

Status check_part(const RotationPart& part, std::int64_t rows, std::int64_t salt) {
  std::int64_t index = salt;
  RINGCOMM_TRY(
      expect(part.row_count == rows && part.k.shape[0] == rows && part.v.shape[0] == rows, "row count"));
  for (const TensorView* view : {&part.k, &part.v}) {
    const auto* data = static_cast<const float*>(view->data);
    for (std::int64_t i = 0; i < view->element_count(); ++i, ++index) {
      if (data[i] != value_of(part.source, index))
        return expect(false,
                      concat("element ", i, " of rank ", part.source, " is ", static_cast<double>(data[i])));
    }
  }
  return {};
}

Status rotate(Communicator& comm, const Scene& scene) {
  const int rank = comm.rank();
  RINGCOMM_TRY_ASSIGN(auto block, make_block(comm, scene.rows[static_cast<std::size_t>(rank)], scene.memory));
  RotationOptions options = scene.options;
  options.rows = scene.rows;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int repeat = 0; repeat < scene.repeats; ++repeat) {
    fill(block, rank, repeat);
    RINGCOMM_TRY(rotation.start());
    std::vector<int> seen;
    while (RotationStep step = rotation.next()) {
      random_delay(static_cast<std::uint32_t>(repeat * 1000 + rank * 10 + step.index()));
      const int expected =
          (((rank - step.index() * options.direction) % scene.ranks) + scene.ranks) % scene.ranks;
      RINGCOMM_TRY(
          expect(step.source() == expected, concat("step ", step.index(), " has rank ", step.source())));
      RINGCOMM_TRY(check_part(step.parts()[0], scene.rows[static_cast<std::size_t>(expected)], repeat));
      seen.push_back(step.index());
    }
    RINGCOMM_TRY(rotation.status());
    std::vector<int> wanted;
    for (int t = 0; t < scene.ranks; ++t) {
      const int owner = (((rank - t * options.direction) % scene.ranks) + scene.ranks) % scene.ranks;
      const auto at = static_cast<std::size_t>(rank * scene.ranks + owner);
      if (options.needed.empty() || options.needed[at] != 0) wanted.push_back(t);
    }
    RINGCOMM_TRY(expect(seen == wanted, concat(seen.size(), " steps instead of ", wanted.size())));
  }
  return {};
}

std::vector<std::int64_t> uneven_rows(int ranks) {
  std::vector<std::int64_t> rows;
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(rank % 3 == 1 ? 0 : 7 + 2 * rank);
  return rows;
}

class RingRotationTest : public testing::TestWithParam<MediumAndRanks> {
 protected:
  void expect_rotates(Scene scene) {
    scene.ranks = GetParam().ranks;
    if (scene.rows.empty()) scene.rows = uneven_rows(scene.ranks);
    const Status status = run_on(GetParam(), [&](Communicator& comm) { return rotate(comm, scene); });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
};

TEST_P(RingRotationTest, TheTransportsOwnModeShowsEveryBlockOnceInRingOrder) {
  for (const Memory memory : {Memory::window, Memory::private_memory, Memory::strided}) {
    for (const int direction : {+1, -1}) {
      Scene scene;
      scene.memory = memory;
      scene.options.direction = direction;
      expect_rotates(scene);
    }
  }
}

TEST_P(RingRotationTest, RelayShowsTheSameWithAndWithoutOverlapAndChunks) {
  for (const plan::Overlap overlap : {plan::Overlap::on, plan::Overlap::off}) {
    for (const std::size_t chunk : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20}) {
      Scene scene;
      scene.options.mode = RotationChoice::relay;
      scene.options.overlap = overlap;
      scene.options.chunk_bytes = chunk;
      scene.memory = chunk == 0 ? Memory::strided : Memory::window;
      expect_rotates(scene);
    }
  }
}

TEST_P(RingRotationTest, BlocksThatARankDoesNotNeedAreSkipped) {
  const auto ranks = static_cast<std::size_t>(GetParam().ranks);
  for (const RotationChoice mode : {RotationChoice::automatic, RotationChoice::relay}) {
    Scene scene;
    scene.options.mode = mode;
    scene.options.needed.resize(ranks * ranks);
    for (std::size_t reader = 0; reader < ranks; ++reader) {
      for (std::size_t owner = 0; owner < ranks; ++owner)
        scene.options.needed[reader * ranks + owner] = owner <= reader ? 1 : 0;  // causal, contiguous
    }
    expect_rotates(scene);
  }
}

INSTANTIATE_TEST_SUITE_P(Media, RingRotationTest, testing::ValuesIn(thread_media()), name_of_case);

struct Copied {
  std::uint64_t copied, viewed, packed;
};

std::vector<Copied> copied_by(int ranks, const RotationOptions& options, Memory memory) {
  std::vector<Copied> copied(static_cast<std::size_t>(ranks));
  Scene scene{.ranks = ranks,
              .rows = std::vector<std::int64_t>(static_cast<std::size_t>(ranks), 4),
              .options = options,
              .memory = memory,
              .repeats = 2};
  const Status status = run_threads(
      ranks,
      [&](Communicator& comm) {
        RINGCOMM_TRY(rotate(comm, scene));
        const CommunicatorCounters counters = comm.counters();
        copied[static_cast<std::size_t>(comm.rank())] = {
            counters.transport.bytes_copied, counters.transport.bytes_viewed, counters.bytes_packed};
        return Status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return copied;
}

constexpr std::uint64_t kBlockBytes = 4 * kRowElements * sizeof(float);

TEST(RingRotationCountersTest, DirectFromAWindowCopiesNothing) {
  for (const int ranks : {2, 8}) {
    for (const Copied& copied : copied_by(ranks, {}, Memory::window)) {
      EXPECT_EQ(copied.copied, 0U);
      EXPECT_EQ(copied.packed, 0U);
      EXPECT_EQ(copied.viewed, 2U * static_cast<std::uint64_t>(ranks - 1) * kBlockBytes);
    }
  }
}

TEST(RingRotationCountersTest, DirectFromPrivateMemoryPacksItsBlockOncePerRun) {
  for (const Copied& copied : copied_by(3, {}, Memory::private_memory)) {
    EXPECT_EQ(copied.copied, 0U);
    EXPECT_EQ(copied.packed, 2 * kBlockBytes);
  }
}

TEST(RingRotationCountersTest, RelayPullsEachOtherBlockOnce) {
  RotationOptions options;
  options.mode = RotationChoice::relay;
  for (const int ranks : {2, 8}) {
    for (const Copied& copied : copied_by(ranks, options, Memory::window))
      EXPECT_EQ(copied.copied, 2U * static_cast<std::uint64_t>(ranks - 1) * kBlockBytes);
  }
}

}  // namespace
}  // namespace ringcomm
