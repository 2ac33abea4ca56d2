// SPDX-License-Identifier: Apache-2.0
// The tables themselves: every reader is complete, and its name is its own.
#include "topology/readers/evidence_readers.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ringcomm {
namespace {

TEST(EvidenceReadersTest, EveryReaderIsCompleteAndItsNameItsOwn) {
  std::set<std::string_view> names;
  for (const auto& reader : topology::evidence_readers()) {
    EXPECT_TRUE(reader.looks_like != nullptr && reader.read != nullptr) << reader.name;
    EXPECT_FALSE(reader.made_by.empty()) << reader.name;
    EXPECT_TRUE(names.insert(reader.name).second) << reader.name;
  }
  for (const auto& reader : topology::evidence_tree_readers()) {
    EXPECT_TRUE(reader.looks_like != nullptr && reader.read != nullptr) << reader.name;
    EXPECT_TRUE(names.insert(reader.name).second) << reader.name;
  }
  EXPECT_EQ(evidence_formats().size(), names.size());
}

TEST(EvidenceReadersTest, NobodyClaimsNothing) {
  for (const auto& reader : topology::evidence_readers()) {
    EXPECT_FALSE(reader.looks_like("")) << reader.name;
    EXPECT_FALSE(reader.looks_like("the quick brown fox\n")) << reader.name;
    EXPECT_FALSE(reader.looks_like("{\"version\": 1}")) << reader.name;
  }
}

}  // namespace
}  // namespace ringcomm
