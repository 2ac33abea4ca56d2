// SPDX-License-Identifier: Apache-2.0
// Split with ranks as forked processes over shared memory: the groups are processes again, joined by sockets
// that were found over a channel of the parent. This program starts no thread before it forks.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"

namespace ringcomm {
namespace {

using namespace test;

Result<std::vector<std::int32_t>> gathered(Communicator& group, int value) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(group.size()), -1);
  std::int32_t own = value;
  RINGCOMM_TRY(all_gather(group.channel(), TensorView::contiguous(&own, DType::int32, {1}),
                          TensorView::contiguous(all.data(), DType::int32, {group.size()}))
                   .status());
  return all;
}

class SplitProcessTest : public testing::TestWithParam<int> {};

TEST_P(SplitProcessTest, GroupsFormOverSharedMemoryAndSplitAgain) {
  const Status status = run_processes(
      GetParam(),
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto group, comm.split(comm.rank() % 2, -comm.rank()));
        RINGCOMM_TRY_ASSIGN(const auto found, gathered(*group, comm.rank()));
        for (std::size_t at = 0; at < found.size(); ++at) {
          RINGCOMM_TRY(expect(found[at] % 2 == comm.rank() % 2, "a stranger"));
          RINGCOMM_TRY(expect(at == 0 || found[at] < found[at - 1], "order"));
        }
        if (group->size() > 1)
          RINGCOMM_TRY(expect(group->path_name((group->rank() + 1) % group->size()) == "shm", "path"));
        RINGCOMM_TRY_ASSIGN(auto inner, group->split(group->rank() < 2 ? 0 : Communicator::kNoColor, 0));
        RINGCOMM_TRY(expect(inner.has_value() == (group->rank() < 2), "no color"));
        if (inner) RINGCOMM_TRY(barrier(inner->channel()).status());
        RINGCOMM_TRY(barrier(group->channel()).status());
        return barrier(comm.channel()).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SplitProcessTest, FailureOfAGroupIsNotItsParents) {
  const Status status = run_processes(
      GetParam(),
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto group, comm.split(comm.rank() / 2, 0));
        if (comm.rank() == 0) group->abort("on purpose");
        const Status waited = barrier(group->channel()).status();
        RINGCOMM_TRY(expect(waited.is_ok() == (comm.rank() >= 2), waited.to_string()));
        RINGCOMM_TRY(comm.health());
        return barrier(comm.channel()).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Ranks, SplitProcessTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "N" + std::to_string(tested.param); });

}  // namespace
}  // namespace ringcomm
