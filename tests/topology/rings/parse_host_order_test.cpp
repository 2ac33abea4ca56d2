// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ringcomm/topology/cluster_rings.hpp"

namespace ringcomm {
namespace {

const std::vector<std::string> kNames{"node01", "node02", "node03"};

TEST(ParseHostOrderTest, ReadsNamesInOrder) {
  EXPECT_EQ(parse_host_order("# leaf 1\nnode03\r\n  node01  # spare\n\nnode02", kNames, "f").value(),
            (std::vector{2, 0, 1}));
  EXPECT_TRUE(parse_host_order("# nothing\n", {}, "f").value().empty());
}

TEST(ParseHostOrderTest, HostsOfOneNameComeInTurn) {
  EXPECT_EQ(parse_host_order("a\nb\na", {"a", "a", "b"}, "f").value(), (std::vector{0, 2, 1}));
}

TEST(ParseHostOrderTest, NamesFileAndLineOfWhatIsWrong) {
  const auto sentence = [](std::string_view text) {
    return std::string(parse_host_order(text, kNames, "hosts.txt").status().message());
  };
  EXPECT_EQ(sentence("node01\nnode04\n"), "hosts.txt:2: no host is called 'node04'");
  EXPECT_EQ(sentence("node01\n\nnode01\n"), "hosts.txt:3: host 'node01' comes twice");
  EXPECT_EQ(sentence("node01\nnode03\n"), "hosts.txt: host 'node02' is missing");
  EXPECT_EQ(sentence("node01 node02\n"), "hosts.txt:1: no host is called 'node01 node02'");
}

}  // namespace
}  // namespace ringcomm
