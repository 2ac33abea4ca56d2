// SPDX-License-Identifier: Apache-2.0
// A machine smaller than the job: four ranks on one CPU, and 64 KiB of /dev/shm. Both simply work. Oracle:
// every element of the results, computed directly.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr int kRanks = 4;
constexpr int kRounds = 2;
constexpr std::chrono::seconds kLimit{60};

Status gather_checked(Communicator& comm, int round) {
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(3 * sizeof(float)));
  std::vector<float> all(3 * static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < 3; ++i)
    window.span<float>()[i] = static_cast<float>(100 * comm.rank() + round) + 0.25F;
  RINGCOMM_TRY(all_gather(comm.channel(), TensorView::contiguous(window.data(), DType::float32, {3}),
                          TensorView::contiguous(all.data(), DType::float32, {3 * comm.size()}))
                   .status());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<float>(100 * static_cast<int>(i / 3) + round) + 0.25F)
      return Status::internal(concat("all_gather: element ", i, " is ", static_cast<double>(all[i])));
  }
  return {};
}

/// Rank r has lse = 0 and out = r in every row: the mean of the ranks, with lse = log(ranks).
Status reduce_checked(Communicator& comm, MergeChoice algorithm) {
  constexpr std::int64_t kRows = 13, kDim = 5;
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(SoftmaxPartial::bytes_needed(kRows, kDim)));
  RINGCOMM_TRY_ASSIGN(const SoftmaxPartial partial, SoftmaxPartial::in(window, kRows, kDim));
  auto* const out = static_cast<float*>(partial.out.data);
  auto* const lse = static_cast<float*>(partial.statistic.data);
  std::fill_n(out, kRows * kDim, static_cast<float>(comm.rank()));
  std::fill_n(lse, kRows, 0.0F);
  RINGCOMM_TRY(softmax_all_reduce(comm.channel(), partial, partial, {.algorithm = algorithm}).status());
  const auto near = [](float a, double b) { return std::abs(static_cast<double>(a) - b) < 1e-5; };
  for (std::int64_t i = 0; i < kRows * kDim; ++i) {
    if (!near(out[i], (comm.size() - 1) / 2.0))
      return Status::internal(concat("softmax_all_reduce: out ", i, " is ", static_cast<double>(out[i])));
  }
  return near(lse[kRows - 1], std::log(comm.size())) ? Status() : Status::internal("softmax_all_reduce: lse");
}

Status work(Communicator& comm) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay}) {
    RotationOptions options;
    options.mode = mode;
    RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
    for (int round = 0; round < kRounds; ++round) {
      RINGCOMM_TRY(rotate_checked(comm, block, rotation, round));
      RINGCOMM_TRY(gather_checked(comm, round));
      RINGCOMM_TRY(reduce_checked(comm, round % 2 == 0 ? MergeChoice::one_shot : MergeChoice::two_shot));
    }
  }
  return barrier(comm.channel()).status();
}

/// Runs `prepare` and then all ranks in a process of its own; what went wrong, or nothing.
std::string on_small_machine(const std::function<Status()>& prepare, const Body& body) {
  ProcessRanks process(1, [&](int, const RankVoice&) -> std::string {
    const Status prepared = prepare();
    if (!prepared.is_ok()) return prepared.to_string();
    const Status by_processes = run_processes(kRanks, body, patient(kLimit));
    if (!by_processes.is_ok()) return concat("processes: ", by_processes.to_string());
    const Status by_threads = run_threads(kRanks, body, patient(kLimit));
    return by_threads.is_ok() ? "" : concat("threads: ", by_threads.to_string());
  });
  return failures_of(process.wait_all(2 * kLimit));
}

Status bind_to_one_cpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return Status::internal("sched_getaffinity");
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  }
  return sched_setaffinity(0, sizeof one, &one) == 0 ? Status() : Status::internal("sched_setaffinity");
}

TEST(SmallMachineTest, FourRanksOnOneCpuFinishWithRightResults) {
  EXPECT_EQ(on_small_machine(bind_to_one_cpu,
                             [](Communicator& comm) -> Status {
                               cpu_set_t set;
                               sched_getaffinity(0, sizeof set, &set);
                               if (CPU_COUNT(&set) != 1)
                                 return Status::internal(concat("runs on ", CPU_COUNT(&set), " CPUs"));
                               return work(comm);
                             }),
            "");
}

/// A mount namespace of this process's own, with 64 KiB of /dev/shm in it.
bool shrink_dev_shm() {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") == 0;
}

TEST(SmallMachineTest, FourRanksWorkWith64KiBOfDevShm) {
  ProcessRanks probe(1, [](int, const RankVoice&) { return shrink_dev_shm() ? std::string() : "refused"; });
  if (!probe.wait(0, std::chrono::seconds(20)).is_ok())
    GTEST_SKIP() << "mount namespaces are not allowed here";
  EXPECT_EQ(on_small_machine(
                [] { return shrink_dev_shm() ? Status() : Status::internal("no mount namespace"); },
                [](Communicator& comm) -> Status {
                  struct statvfs info {};
                  if (statvfs("/dev/shm", &info) != 0 || info.f_blocks * info.f_frsize != 64 << 10)
                    return Status::internal("/dev/shm is not 64 KiB");
                  // Twice as much in one window.
                  RINGCOMM_TRY_ASSIGN(const Block large,
                                      make_block(comm, {.rows = 128, .heads = 2, .dim = 64}));
                  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), large.k, large.v));
                  RINGCOMM_TRY(rotate_checked(comm, large, rotation, 0));
                  return work(comm);
                }),
            "");
}

}  // namespace
}  // namespace ringcomm
