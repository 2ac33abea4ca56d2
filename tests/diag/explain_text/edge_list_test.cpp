// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/edge_list.hpp"

#include <gtest/gtest.h>

namespace ringcomm::diag {
namespace {

TEST(EdgeListTest, EdgesWithOneEndAreOneLine) {
  const std::vector<WaitEdge> edges{
      {"0", "2", "tp", "all_reduce 7"}, {"2", "0", "", "recv"}, {"1", "2", "tp", "all_reduce 7"}};
  EXPECT_EQ(edge_list(edges), (std::vector<std::string>{"ranks 0, 1 --> rank 2 in all_reduce 7 of group tp",
                                                        "rank 2 --> rank 0 in recv"}));
}

TEST(EdgeListTest, OperationsOfOneEndStayApart) {
  EXPECT_EQ(edge_list({{"0", "1", "a", ""}, {"0", "1", "b", ""}}),
            (std::vector<std::string>{"rank 0 --> rank 1 in group a", "rank 0 --> rank 1 in group b"}));
}

}  // namespace
}  // namespace ringcomm::diag
