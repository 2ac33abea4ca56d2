// SPDX-License-Identifier: Apache-2.0
// The small all-gather of comm over both kinds of transport; every byte says which rank gave it.
#include "comm/channel_gather.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "collectives/media.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;

class ChannelGatherTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(ChannelGatherTest, EverybodyGetsAllBytesInMemberOrder) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{70'001}}) {
      random_delay(static_cast<std::uint32_t>(comm.rank()) + static_cast<std::uint32_t>(bytes));
      const std::vector<std::byte> mine(bytes, static_cast<std::byte>(comm.rank() + 1));
      std::vector<std::byte> all(bytes * static_cast<std::size_t>(comm.size()));
      RINGCOMM_TRY(comm::gather_bytes(comm.channel(), mine, all, deadline));
      for (std::size_t at = 0; at < all.size(); ++at)
        RINGCOMM_TRY(expect(all[at] == static_cast<std::byte>(at / bytes + 1), concat("byte ", at)));
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(ChannelGatherTest, ATargetOfAnotherSizeIsRefusedAtTheCall) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    std::byte all[100];
    const Status got =
        comm::gather_bytes(comm.channel(), std::span(all).first(3), std::span(all).first(99), {});
    if (comm.size() * 3 == 99) return {};
    return expect(got.code() == StatusCode::invalid_argument, got.to_string());
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Media, ChannelGatherTest, testing::ValuesIn(thread_media()), name_of_case);

}  // namespace
}  // namespace ringcomm
