// SPDX-License-Identifier: Apache-2.0
// A file-size limit below what a memfd needs would be a signal (SIGXFSZ): it is an error that names rank,
// what was wanted and the limit, and the ranks that are not limited are released. Oracle: golden messages.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr const char* kAdvice = " (a larger memfd raises SIGXFSZ). Raise it with ulimit -f";

void limit_file_size(std::size_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

/// Two processes; `limited` of them (all with -1) have the limit before their communicator is made.
std::vector<RankOutcome> with_limit(int limited, std::size_t bytes, const CommunicatorOptions& options,
                                    const Body& body) {
  auto made = ForkedMesh::create(2);
  check(made.status());
  std::optional<ForkedMesh> mesh(std::move(made).value());
  ProcessRanks processes(2, [&](int rank, const RankVoice&) {
    if (limited < 0 || rank == limited) limit_file_size(bytes);
    return run_and_report(
        [&]() -> Result<Communicator> {
          RINGCOMM_TRY_ASSIGN(auto bootstrap, mesh->take(rank));
          return Communicator::create(std::move(bootstrap), options);
        },
        body);
  });
  mesh.reset();
  std::vector<RankOutcome> all;
  for (const RankReport& report : processes.wait_all(std::chrono::seconds(30)))
    all.push_back(parse_report(report));
  return all;
}

CommunicatorOptions with_arena(std::size_t bytes) {
  CommunicatorOptions options = patient();
  options.arena_bytes = bytes;
  return options;
}

const Body kNothing = [](Communicator&) { return Status(); };

TEST(FileSizeLimitTest, TooSmallForTheArenaOnAllRanks) {
  const LeftBehind before;
  const std::string message = concat(
      "out_of_memory: segment \"ringcomm-arena\" of 4 MiB does not fit: RLIMIT_FSIZE is 1 MiB", kAdvice);
  for (const RankOutcome& rank : with_limit(-1, kMiB, with_arena(4 * kMiB), kNothing)) {
    EXPECT_EQ(rank.said, message);
    EXPECT_EQ(rank.left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

TEST(FileSizeLimitTest, TooSmallForTheArenaOnOneRankIsToldToTheOther) {
  const LeftBehind before;
  const auto all = with_limit(1, kMiB, with_arena(4 * kMiB), kNothing);
  const std::string reason =
      concat("segment \"ringcomm-arena\" of 4 MiB does not fit: RLIMIT_FSIZE is 1 MiB", kAdvice);
  EXPECT_EQ(all[0].said, "out_of_memory: rank 1 could not set up: " + reason);
  EXPECT_EQ(all[1].said, "out_of_memory: " + reason);
  EXPECT_EQ(all[0].left + all[1].left, "");
  EXPECT_EQ(before.differences(), "");
}

TEST(FileSizeLimitTest, TooSmallForTheControlSegmentOnOneRankIsToldToTheOther) {
  const auto all = with_limit(1, 128 << 10, with_arena(64 << 10), kNothing);
  for (const RankOutcome& rank : all) {
    EXPECT_NE(rank.said.find("segment \"ringcomm-control\" of "), std::string::npos) << rank.said;
    EXPECT_NE(rank.said.find(concat("does not fit: RLIMIT_FSIZE is 128 KiB", kAdvice)), std::string::npos)
        << rank.said;
    EXPECT_LT(rank.ms, 2000);
    EXPECT_EQ(rank.left, "");
  }
}

TEST(FileSizeLimitTest, TooSmallForAWindowIsRefusedAndTheCommunicatorWorksOn) {
  for (const RankOutcome& rank : with_limit(-1, 2 * kMiB, with_arena(kMiB), [](Communicator& comm) -> Status {
         const Status refused = comm.allocate(3 * kMiB).status();
         const std::string message =
             concat("out_of_memory: segment \"ringcomm-window\" of 3 MiB does not fit: RLIMIT_FSIZE is 2 MiB",
                    kAdvice);
         if (refused.to_string() != message) return Status::internal(concat("got: ", refused.to_string()));
         RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
         RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
         return rotate_checked(comm, block, rotation, 0);
       })) {
    EXPECT_EQ(rank.said, "ok");
    EXPECT_EQ(rank.health, "ok");
    EXPECT_EQ(rank.left, "");
  }
}

TEST(FileSizeLimitTest, TooSmallForTheSlotsOfARelayReleasesTheOtherRank) {
  // Private memory: the block itself is no memfd, but the slots (and the packed block) are.
  const auto all = with_limit(1, 2 * kMiB, with_arena(64 << 10), [](Communicator& comm) -> Status {
    std::vector<float> memory(kMiB);
    const auto view = [&](std::size_t at) {
      return TensorView::contiguous(memory.data() + at, DType::float32, {1024, 2, 256});
    };
    RotationOptions options;
    options.mode = RotationChoice::relay;
    RINGCOMM_TRY_ASSIGN(auto rotation,
                        RingRotation::create(comm.channel(), view(0), view(kMiB / 2), options));
    return rotation.run([](const RotationStep&) {});
  });
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said,
              concat("out_of_memory: segment \"ringcomm-arena\" of 4 MiB does not fit: RLIMIT_FSIZE is "
                     "2 MiB",
                     kAdvice));
    EXPECT_EQ(rank.health, rank.said);
    EXPECT_LT(rank.ms, 2000);
    EXPECT_EQ(rank.left, "");
  }
}

TEST(FileSizeLimitTest, DoesNotConcernThreads) {
  ProcessRanks process(1, [](int, const RankVoice&) {
    limit_file_size(4096);
    const Status status = run_threads(
        4,
        [](Communicator& comm) -> Status {
          RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
          RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
          return rotate_checked(comm, block, rotation, 0);
        },
        patient());
    return status.is_ok() ? std::string() : status.to_string();
  });
  EXPECT_EQ(failures_of(process.wait_all(std::chrono::seconds(30))), "");
}

}  // namespace
}  // namespace ringcomm
