// SPDX-License-Identifier: Apache-2.0
// A table of Slurm's notations, and random texts that must neither crash nor give a name with odd characters.
#include "bootstrap/node_list.hpp"

#include <gtest/gtest.h>

#include <random>

namespace ringcomm::bootstrap {
namespace {

TEST(NodeListTest, FirstHostOfEachForm) {
  const std::vector<std::pair<std::string_view, std::string_view>> table{{"host", "host"},
                                                                         {"host,other", "host"},
                                                                         {"host[1-3,5]", "host1"},
                                                                         {"host[01-03]", "host01"},
                                                                         {"host[7]", "host7"},
                                                                         {"host[4,6]", "host4"},
                                                                         {"a-b.c[10-12],d", "a-b.c10"},
                                                                         {"rack[1-2]n1,x", "rack1n1"},
                                                                         {"n[3-5],n[8-9]", "n3"}};
  for (const auto& [list, first] : table) EXPECT_EQ(first_node(list).value_or("nothing"), first) << list;
}

TEST(NodeListTest, WhatIsNotUnderstoodIsNothing) {
  for (const char* list : {"", ",", "[1-2]", "host[", "host[]", "host[x]", "host[-2]", "ho st", "host\n",
                           "a[1][2]", "a[1]b[2]", "host]", "h/x"}) {
    EXPECT_FALSE(first_node(list).has_value()) << list;
  }
  EXPECT_FALSE(first_node(std::string(300, 'a')).has_value());
}

TEST(NodeListTest, RandomTextsGiveANameOrNothing) {
  std::mt19937 random(7);
  const std::string letters = "ab01-.,[]_ /\n\x80";
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 40, 'x');
    for (char& c : text) c = letters[random() % letters.size()];
    const auto name = first_node(text);
    if (!name) continue;
    EXPECT_EQ(name->find_first_of(" ,[]/\n\x80"), std::string::npos) << text;
    EXPECT_FALSE(name->empty());
  }
}

}  // namespace
}  // namespace ringcomm::bootstrap
