// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/group_table.hpp"

#include <gtest/gtest.h>

#include "core/terminal_text.hpp"

namespace ringcomm::diag {
namespace {

MemberState member(const char* rank, int enqueued, int completed, const char* op) {
  MemberState state;
  state.rank = rank;
  state.enqueued = enqueued;
  state.completed = completed;
  state.op = op;
  state.is_waiting = *op != '\0';
  return state;
}

Verdict verdict_of_four() {
  Verdict verdict;
  verdict.culprits = {"2"};
  GroupState group;
  group.name = "tp";
  for (const char* rank : {"0", "1", "3"}) group.members.push_back(member(rank, 8, 7, "all_reduce"));
  group.members.insert(group.members.begin() + 2, member("2", 7, 7, ""));
  verdict.groups = {group};
  return verdict;
}

TEST(GroupTableTest, EqualRanksAreOneRowAndTheCulpritIsMarked) {
  const auto lines = group_table(verdict_of_four(), 90, false);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "group  ranks    called  done  now");
  EXPECT_EQ(lines[1], "tp     0, 1, 3  8       7     waits in all_reduce");
  EXPECT_EQ(lines[2], "       2        7       7     no open call  <- culprit");
}

TEST(GroupTableTest, UnknownIsNoNumber) {
  Verdict verdict = verdict_of_four();
  MemberState& unknown = verdict.groups[0].members[2];
  unknown.enqueued.reset();
  unknown.completed.reset();
  unknown.op.clear();
  unknown.has_evidence = false;
  EXPECT_EQ(group_table(verdict, 90, false)[2], "       2        ?       ?     no evidence  <- culprit");
}

TEST(GroupTableTest, GroupsWhereNobodyWaitsAreCounted) {
  Verdict verdict = verdict_of_four();
  GroupState quiet;
  quiet.name = "dp";
  quiet.members = {member("0", 3, 3, "")};
  verdict.groups.push_back(quiet);
  EXPECT_EQ(group_table(verdict, 90, false).back(), "1 other group: nobody waits there");
  EXPECT_EQ(group_table(verdict, 90, true).size(), 4U);
  verdict.groups = {quiet};
  EXPECT_EQ(group_table(verdict, 90, false).size(), 2U);
  EXPECT_TRUE(group_table(Verdict{}, 90, false).empty());
}

TEST(GroupTableTest, StuckGroupComesFirstThenThoseOfCulprits) {
  Verdict verdict = verdict_of_four();
  GroupState other = verdict.groups[0], stuck = verdict.groups[0];
  other.name = "other";
  other.members = {member("0", 2, 1, "x")};
  stuck.name = verdict.group = "stuck";
  stuck.members = {member("1", 2, 1, "x")};
  verdict.groups = {other, verdict.groups[0], stuck};
  const auto lines = group_table(verdict, 90, false);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1].substr(0, 5), "stuck");
  EXPECT_EQ(lines[2].substr(0, 2), "tp");
  EXPECT_EQ(lines[4].substr(0, 5), "other");
}

TEST(GroupTableTest, ALongNameIsCutBeforeWhatARankDoesAndTheMarkNever) {
  Verdict verdict = verdict_of_four();
  verdict.groups[0].name = std::string(60, 'n');
  verdict.groups[0].members[0].op = std::string(40, 'o');
  auto lines = group_table(verdict, 90, false);
  EXPECT_EQ(lines[1].substr(0, 20), std::string(17, 'n') + "...");
  EXPECT_NE(lines[1].find("waits in oooooo"), std::string::npos) << lines[1];
  verdict.culprits = {"0"};
  verdict.groups[0].members[0].op = std::string(400, 'o');
  lines = group_table(verdict, 90, false);
  EXPECT_TRUE(lines[1].ends_with("o...  <- culprit")) << lines[1];
  EXPECT_EQ(columns_of(lines[1]), 90U);
}

TEST(GroupTableTest, ACallWhoseEndNobodyRecordsIsNotSaidToBeOver) {
  Verdict verdict = verdict_of_four();
  verdict.groups[0].members[2].completed.reset();
  EXPECT_EQ(group_table(verdict, 90, false)[2], "       2        7       ?     not known  <- culprit");
}

TEST(GroupTableTest, NoLineIsWiderThanTheScreen) {
  Verdict verdict = verdict_of_four();
  verdict.groups[0].name = std::string(200, 'n') + "\xff\n";
  verdict.groups[0].members[0].op = std::string(400, '\x80');
  for (const std::string& line : group_table(verdict, 90, false)) {
    EXPECT_LE(columns_of(line), 90U);
    EXPECT_EQ(printable(line, true), line);
  }
}

}  // namespace
}  // namespace ringcomm::diag
