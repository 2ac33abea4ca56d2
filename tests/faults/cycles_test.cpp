// SPDX-License-Identifier: Apache-2.0
// 1,000 communicators made, used and destroyed, one after another, leave nothing. The oracle is what the
// system counts: descriptors, threads, mappings, and the names in the store's directory and /dev/shm.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "support/process_ranks.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

constexpr int kCycles = 1000;
constexpr int kWarmUp = 20;  // heap arenas, streams of the C library, and what is made once
constexpr int kRanks = 2;

CommunicatorOptions small_options() {
  CommunicatorOptions options;
  options.deadline = std::chrono::seconds(30);
  options.arena_bytes = 64 << 10;
  return options;
}

struct Held {
  int descriptors = 0;
  int threads = 0;
  int mappings = 0;
  int shared_names = 0;  ///< of ours in /dev/shm

  static Held now() {
    Held held{.descriptors = test::open_descriptors(),
              .threads = test::threads_of_this_process(),
              .mappings = test::mappings_with("")};
    // Others may work there; the folder of flight records stays on purpose.
    const std::string records = concat("ringcomm-", ::geteuid());
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      const std::string name = entry.path().filename();
      held.shared_names += name.find("ringcomm") != std::string::npos && name != records ? 1 : 0;
    }
    return held;
  }
  /// "" when nothing was gained.
  std::string gained_since(const Held& before) const {
    if (descriptors <= before.descriptors && threads <= before.threads &&
        mappings <= before.mappings + test::kHeapMappings && shared_names <= before.shared_names)
      return "";
    return concat("descriptors ", before.descriptors, " -> ", descriptors, ", threads ", before.threads,
                  " -> ", threads, ", mappings ", before.mappings, " -> ", mappings, ", names in /dev/shm ",
                  before.shared_names, " -> ", shared_names);
  }
};

/// A window, a collective and a channel of its own: what a communicator can hold.
Status use(Communicator& comm) {
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(4096));
  RINGCOMM_TRY_ASSIGN(Channel * channel, comm.open_channel({0, 1}));
  RINGCOMM_TRY(barrier(*channel).status());
  return barrier(comm.channel()).status();
}

std::string run_file_store_cycles(const std::filesystem::path& folder, int rank) {
  Held before;
  for (int cycle = 0; cycle < kCycles + kWarmUp; ++cycle) {
    if (cycle == kWarmUp) before = Held::now();
    auto bootstrap = bootstrap_file_store(folder / std::to_string(cycle), rank, kRanks,
                                          Deadline::after(std::chrono::seconds(30)));
    if (!bootstrap.is_ok()) return bootstrap.status().to_string();
    auto comm = Communicator::create(std::move(bootstrap).value(), small_options());
    const Status used = comm.is_ok() ? use(comm.value()) : comm.status();
    if (!used.is_ok()) return concat("cycle ", cycle, ": ", used.to_string());
  }
  return Held::now().gained_since(before);
}

TEST(CyclesTest, AThousandGroupsOfThreadsLeaveNothing) {
  Held before;
  for (int cycle = 0; cycle < kCycles + kWarmUp; ++cycle) {
    if (cycle == kWarmUp) before = Held::now();
    const Status status = run_threads(kRanks, use, small_options());
    ASSERT_TRUE(status.is_ok()) << "cycle " << cycle << ": " << status.to_string();
  }
  EXPECT_EQ(Held::now().gained_since(before), "");
}

TEST(CyclesTest, AThousandGroupsOfProcessesLeaveNothing) {
  const test::TempDir folder;
  test::ProcessRanks ranks(
      kRanks, [&](int rank, const test::RankVoice&) { return run_file_store_cycles(folder.path(), rank); });
  EXPECT_EQ(test::failures_of(ranks.wait_all(std::chrono::seconds(110))), "");
  int left = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    left += entry.is_directory() ? 0 : 1;
  EXPECT_EQ(left, 0) << "files in the store";
}

}  // namespace
}  // namespace ringcomm
