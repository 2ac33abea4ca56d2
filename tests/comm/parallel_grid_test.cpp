// SPDX-License-Identifier: Apache-2.0
// Known answers: small grids worked out by hand from Megatron-LM's rule (ranks count through the order, first
// word fastest), the job of 128 by its formula, and random grids by their defining properties. Channels and
// communicators are opened by ranks as threads.
#include "ringcomm/comm/parallel_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"

namespace ringcomm {
namespace {

using namespace test;
using Groups = std::vector<std::vector<int>>;

ParallelGrid grid_of(const ParallelSizes& sizes, int world,
                     std::string_view order = ParallelGrid::kDefaultOrder) {
  auto made = ParallelGrid::create(sizes, world, order);
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return std::move(made).value();
}

TEST(ParallelGridTest, TwoByTwoByTwoAsMegatronFormsIt) {
  // rank = tp + 2 cp + 4 dp
  const ParallelGrid grid = grid_of({.tp = 2, .cp = 2}, 8);
  EXPECT_EQ(grid.sizes().dp, 2);
  EXPECT_EQ(grid.groups(ParallelKind::tp), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(grid.groups(ParallelKind::sp), grid.groups(ParallelKind::tp));
  EXPECT_EQ(grid.groups(ParallelKind::cp), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(grid.groups(ParallelKind::dp), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(grid.groups(ParallelKind::dp_cp), (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(grid.groups(ParallelKind::pp), (Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

TEST(ParallelGridTest, OtherOrdersCountOtherwise) {
  // rank = pp + 2 tp + 4 dp; then tp-pp-dp of Megatron's own example: dp groups of 8 ranks
  const ParallelGrid first = grid_of({.tp = 2, .pp = 2, .dp = 2}, 8, "PP-tp-dp");
  EXPECT_EQ(first.groups(ParallelKind::pp), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(first.groups(ParallelKind::tp), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(first.order(), "pp-tp-dp");
  const ParallelGrid second = grid_of({.tp = 2, .pp = 2, .dp = 2}, 8, "tp-pp-dp");
  EXPECT_EQ(second.groups(ParallelKind::dp), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  // [tp, dp, pp] = [2, 3, 4]: groups 0, 1 and 7 of DP
  const ParallelGrid third = grid_of({.tp = 2, .pp = 4, .dp = 3}, 24);
  EXPECT_EQ(third.groups(ParallelKind::dp)[0], (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(third.groups(ParallelKind::dp)[1], (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(third.groups(ParallelKind::dp)[7], (std::vector<int>{19, 21, 23}));
  // dp before cp: the combined group is in the order of the ranks' own
  const ParallelGrid fourth = grid_of({.tp = 1, .cp = 2, .dp = 3}, 6, "tp-dp-cp-pp");
  EXPECT_EQ(fourth.groups(ParallelKind::dp_cp), (Groups{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(fourth.groups(ParallelKind::cp), (Groups{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(ParallelGridTest, The128OfTheIssue) {
  const ParallelGrid grid = grid_of({.tp = 8, .cp = 2, .pp = 4, .dp = 2}, 128);
  EXPECT_EQ(grid.size(ParallelKind::tp), 8);
  EXPECT_EQ(grid.size(ParallelKind::dp_cp), 4);
  EXPECT_EQ(grid.groups(ParallelKind::tp).size(), 16U);
  EXPECT_EQ(grid.groups(ParallelKind::cp).size(), 64U);
  EXPECT_EQ(grid.groups(ParallelKind::pp).size(), 32U);
  for (int rank = 0; rank < 128; ++rank) {
    const int tp = rank % 8, cp = rank / 8 % 2, dp = rank / 16 % 2, pp = rank / 32;
    EXPECT_EQ(grid.place_in_group(ParallelKind::tp, rank), tp);
    EXPECT_EQ(grid.place_in_group(ParallelKind::cp, rank), cp);
    EXPECT_EQ(grid.place_in_group(ParallelKind::dp, rank), dp);
    EXPECT_EQ(grid.place_in_group(ParallelKind::pp, rank), pp);
    EXPECT_EQ(grid.place_in_group(ParallelKind::dp_cp, rank), cp + 2 * dp);
    EXPECT_EQ(grid.group_of(ParallelKind::tp, rank), rank / 8);
    EXPECT_EQ(grid.group_of(ParallelKind::pp, rank), rank % 32);
  }
  EXPECT_EQ(grid.groups(ParallelKind::pp)[5], (std::vector<int>{5, 37, 69, 101}));
  EXPECT_EQ(grid.groups(ParallelKind::cp)[9], (std::vector<int>{17, 25}));
}

TEST(ParallelGridTest, RandomGridsKeepTheirPromises) {
  std::mt19937 random(1);
  std::vector<std::string> words{"tp", "cp", "dp", "pp"};
  for (int trial = 0; trial < 200; ++trial) {
    ParallelSizes sizes;
    sizes.tp = 1 + static_cast<int>(random() % 4);
    sizes.cp = 1 + static_cast<int>(random() % 4);
    sizes.pp = 1 + static_cast<int>(random() % 3);
    sizes.dp = 1 + static_cast<int>(random() % 3);
    const int world = sizes.tp * sizes.cp * sizes.pp * sizes.dp;
    std::shuffle(words.begin(), words.end(), random);
    const std::string order = concat(words[0], "-", words[1], "-", words[2], "-", words[3]);
    const ParallelGrid grid = grid_of(sizes, world, order);
    for (const ParallelKind kind : kParallelKinds) {
      std::multiset<int> ranks;
      for (const auto& members : grid.groups(kind)) {
        EXPECT_EQ(members.size(), static_cast<std::size_t>(grid.size(kind)));
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
        ranks.insert(members.begin(), members.end());
      }
      ASSERT_EQ(ranks.size(), static_cast<std::size_t>(world));
      EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), ranks.size()) << "each rank once";
    }
    for (int rank = 0; rank < world; ++rank) {
      const auto members = [&](ParallelKind kind) {
        return grid.groups(kind)[static_cast<std::size_t>(grid.group_of(kind, rank))];
      };
      for (const auto& [a, b] : {std::pair{ParallelKind::tp, ParallelKind::cp},
                                 {ParallelKind::tp, ParallelKind::dp},
                                 {ParallelKind::cp, ParallelKind::pp},
                                 {ParallelKind::tp, ParallelKind::dp_cp}}) {
        std::vector<int> both;
        const std::vector<int> left = members(a), right = members(b);
        std::ranges::set_intersection(left, right, std::back_inserter(both));
        EXPECT_EQ(both, std::vector<int>{rank}) << name_of(a) << " and " << name_of(b);
      }
    }
  }
}

TEST(ParallelGridTest, WrongNumbersAreInTheError) {
  const auto refused = [](const ParallelSizes& sizes, int world, std::string_view order,
                          std::string_view part) {
    const Status got = ParallelGrid::create(sizes, world, order).status();
    EXPECT_EQ(got.code(), StatusCode::invalid_argument);
    EXPECT_NE(got.message().find(part), std::string::npos) << got.to_string();
  };
  const std::string_view usual = ParallelGrid::kDefaultOrder;
  refused({.tp = 8, .cp = 2, .pp = 3}, 128, usual, "tp 8 x cp 2 x pp 3 = 48 does not divide 128 ranks");
  refused({.tp = 8, .cp = 2, .pp = 4, .dp = 3}, 128, usual,
          "tp 8 x cp 2 x pp 4 x dp 3 is not the world of 128");
  refused({.tp = 2, .dp = 2'000'000'000}, 128, usual, "dp 2000000000");
  refused({.tp = 0}, 8, usual, "tp = 0 is not between 1 and the 8 ranks");
  refused({.cp = -3}, 8, usual, "cp = -3");
  refused({.pp = 9}, 8, usual, "pp = 9");
  refused({.dp = -1}, 8, usual, "dp = -1");
  refused({}, 0, usual, "parallel grid of 0 ranks");
  refused({.tp = 2}, 8, "tp-cp-tp-dp-pp", "has \"tp\" twice");
  refused({.tp = 2}, 8, "tp-xp-dp", "\"xp\"");
  refused({.tp = 2}, 8, "", "\"\"");
  refused({.tp = 2, .cp = 2}, 8, "tp-dp-pp", "lacks cp, whose size is 2");
  EXPECT_TRUE(ParallelGrid::create({.tp = 2}, 8, "tp-dp").is_ok()) << "words of size 1 may be left out";
}

TEST(ParallelGridTest, TheTextNamesEveryGroup) {
  const std::string text = grid_of({.tp = 2, .cp = 2}, 4).to_text();
  EXPECT_EQ(text,
            "4 ranks in order tp-cp-dp-pp: TP 2, CP 2, DP 1, PP 1 (SP groups are the TP groups)\n"
            "TP group 0: 0 1\nTP group 1: 2 3\nCP group 0: 0 2\nCP group 1: 1 3\n"
            "PP group 0: 0\nPP group 1: 1\nPP group 2: 2\nPP group 3: 3\n"
            "DP group 0: 0\nDP group 1: 1\nDP group 2: 2\nDP group 3: 3\n"
            "DP-CP group 0: 0 2\nDP-CP group 1: 1 3\n");
}

/// What the members of `channel` say about themselves, against the grid's group.
Status expect_members(Channel& channel, int own, const std::vector<int>& members) {
  std::vector<std::int32_t> found(members.size(), -1);
  std::int32_t mine = own;
  RINGCOMM_TRY(all_gather(channel, TensorView::contiguous(&mine, DType::int32, {1}),
                          TensorView::contiguous(found.data(), DType::int32, {channel.size()}))
                   .status());
  return expect(std::ranges::equal(found, members), "other members");
}

TEST(ParallelGridTest, EveryKindHasItsChannelWithItsOptions) {
  CommunicatorOptions options = with_deadline(std::chrono::seconds(30));
  options.transports = {inproc_transport()};
  const Status status = run_threads(
      8,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const auto grid, ParallelGrid::create({.tp = 2, .cp = 2, .pp = 2}, 8));
        std::vector<Channel*> channels;
        for (const ParallelKind kind : kParallelKinds) {
          ChannelOptions own;
          own.deadline = std::chrono::seconds(20 + static_cast<int>(kind));
          own.chunk_bytes = kind == ParallelKind::cp ? 256 : 0;
          own.priority = kind == ParallelKind::tp ? 1 : 0;
          RINGCOMM_TRY_ASSIGN(channels.emplace_back(), grid.open(comm, kind, own));
          RINGCOMM_TRY(expect(channels.back()->options().deadline == own.deadline, "deadline"));
          RINGCOMM_TRY(expect(channels.back()->options().chunk_bytes == own.chunk_bytes, "chunk"));
        }
        for (std::size_t at = channels.size(); at-- > 0;) {  // any order of use
          const ParallelKind kind = kParallelKinds[at];
          const auto& members = grid.groups(kind)[static_cast<std::size_t>(grid.group_of(kind, comm.rank()))];
          RINGCOMM_TRY(expect_members(*channels[at], comm.rank(), members));
        }
        RINGCOMM_TRY_ASSIGN(auto own, grid.open_communicator(comm, ParallelKind::dp_cp));
        RINGCOMM_TRY(expect_members(own.channel(), comm.rank(),
                                    grid.groups(ParallelKind::dp_cp)[static_cast<std::size_t>(
                                        grid.group_of(ParallelKind::dp_cp, comm.rank()))]));
        const Status twice = grid.open(comm, ParallelKind::tp).status();
        RINGCOMM_TRY(expect(twice.code() == StatusCode::invalid_argument, twice.to_string()));
        RINGCOMM_TRY_ASSIGN(const auto other, ParallelGrid::create({}, 4));
        const Status wrong = other.open(comm, ParallelKind::tp).status();
        return expect(
            wrong.message().find("a parallel grid of 4 ranks on a communicator of 8") != std::string::npos,
            wrong.to_string());
      },
      options);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
