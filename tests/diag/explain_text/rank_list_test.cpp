// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/rank_list.hpp"

#include <gtest/gtest.h>

namespace ringcomm::diag {
namespace {

TEST(RankListTest, NumbersAreSortedAndJoinedNamesFollow) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({"3"}), "3");
  EXPECT_EQ(rank_list({"10", "9"}), "9, 10");
  EXPECT_EQ(rank_list({"9", "0", "2", "1", "2"}), "0-2, 9");
  EXPECT_EQ(rank_list({"GPU 3 of nodeb", "1", "GPU 3 of nodeb"}), "1, GPU 3 of nodeb");
}

TEST(RankListTest, WhatIsLeftOutIsCounted) {
  EXPECT_EQ(rank_list({"0", "2", "4", "5", "6"}, 2), "0, 2 and 3 more");
  EXPECT_EQ(rank_list({"0", "1", "2", "a", "b"}, 2), "0-2, a and 1 more");
}

TEST(RankListTest, WordsAreOneOrMany) {
  EXPECT_EQ(ranks_in_words({"3"}), "rank 3");
  EXPECT_EQ(ranks_in_words({"3", "5"}), "ranks 3, 5");
  EXPECT_EQ(ranks_in_words({"GPU 3 of nodeb"}), "GPU 3 of nodeb");
}

}  // namespace
}  // namespace ringcomm::diag
