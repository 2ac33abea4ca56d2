// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/events/side.hpp"

#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(SideTest, LabelsAreSortedByNumberAndOnce) {
  EXPECT_EQ(sorted_labels({"10", "9", "", "nodeb", "9"}), (Labels{"9", "10", "nodeb"}));
  EXPECT_EQ(text_of_labels({"3"}), "rank 3");
  EXPECT_EQ(text_of_labels({"0", "4", "6"}), "ranks 0, 4 and 6");
  EXPECT_EQ(text_of_labels({"process 12 on n1"}), "process 12 on n1");
}

TEST(SideTest, OnlyTimesOfOneClockAreCompared) {
  EventFact dated, day;
  dated.time_ns = 1'700'000'000'000'000'000;
  day.time_ns = 3'600'000'000'000;
  EXPECT_FALSE(is_before(day, dated));
  EventFact later = day;
  later.time_ns = *day.time_ns + 5;
  EXPECT_TRUE(is_before(day, later));
  EXPECT_FALSE(is_before(day, later, 5));
  EXPECT_FALSE(is_before(EventFact{}, later));
}

TEST(SideTest, EventsOfAKindComeEarliestFirst) {
  Facts facts;
  facts.event_at(EventKind::xid, Facts::rank(1), "b", 20);
  facts.event(EventKind::xid, Facts::rank(2), "c");
  facts.event_at(EventKind::xid, Facts::rank(0), "a", 10);
  const JobPicture picture = picture_of(facts.evidence);
  const SideEvidence side(facts.evidence, picture);
  ASSERT_EQ(side.of(EventKind::xid).size(), 3U);
  EXPECT_EQ(side.of(EventKind::xid)[0]->text, "a");
  EXPECT_EQ(side.of(EventKind::xid)[1]->text, "b");
  EXPECT_EQ(side.of(EventKind::xid)[2]->text, "c");
  EXPECT_TRUE(side.has_before(EventKind::xid, *side.of(EventKind::xid)[1]));
  EXPECT_FALSE(side.has_before(EventKind::xid, *side.of(EventKind::xid)[0]));
  EXPECT_FALSE(side.has_before(EventKind::xid, *side.of(EventKind::xid)[2]));
}

TEST(SideTest, ProcessesAreNamedByRankWhereAnyLineTellsIt) {
  Facts facts;
  Who known = Facts::process("n1", 77, 2);
  known.rank = 5;
  known.bus_id = "0000:dc:00.0";
  facts.evidence.identities.push_back(known);
  facts.event(EventKind::oom_kill, Facts::process("", 77), "Killed process 77");
  Who of_bus;
  of_bus.bus_id = "0000:dc:00.0";
  facts.event(EventKind::xid, of_bus, "Xid");
  facts.event(EventKind::xid, Facts::process("n2", 78), "Xid");
  const JobPicture picture = picture_of(facts.evidence);
  const SideEvidence side(facts.evidence, picture);
  EXPECT_EQ(side.label_of(Facts::process("", 77)), "5");
  EXPECT_EQ(side.label_of(of_bus), "5");
  EXPECT_EQ(side.label_of(Facts::process("n2", 78)), "process 78 on n2");
  EXPECT_EQ(side.label_of(Who{}), "");
}

TEST(SideTest, AWatchdogLineBesideAnErrorIsNoTimeout) {
  Facts facts;
  facts.event(EventKind::timeout, Facts::rank(1), "Exception (either an error or timeout)").detail =
      "watchdog";
  {
    const JobPicture picture = picture_of(facts.evidence);
    EXPECT_TRUE(SideEvidence(facts.evidence, picture).has(EventKind::timeout));
  }
  facts.event(EventKind::async_error, Facts::rank(1), "NCCL error");
  const JobPicture picture = picture_of(facts.evidence);
  EXPECT_FALSE(SideEvidence(facts.evidence, picture).has(EventKind::timeout));
}

}  // namespace
}  // namespace ringcomm::diag
