// SPDX-License-Identifier: Apache-2.0
// The screen that a person sees: what it must say, and that it stays one screen.
#include <gtest/gtest.h>

#include <sstream>

#include "core/terminal_text.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/watchdog.hpp"

namespace ringcomm::diag {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Verdict small_verdict() {
  Verdict verdict;
  verdict.kind = FaultKind::rank_not_entered;
  verdict.grade = Grade::likely;
  verdict.culprits = {"2"};
  verdict.victims = {"0", "1", "3"};
  verdict.group = "tp";
  verdict.op = "all_reduce";
  verdict.seq = "78";
  verdict.title = "rank 2 did not make all_reduce 78 of group tp";
  verdict.why = {"Ranks 0, 1 and 3 have called 78 operations, rank 2 has called 77.",
                 "Ranks 0, 1 and 3 have called 78 operations, rank 2 has called 77."};
  verdict.evidence = {{{"/logs/run/rank_0.log", 12}, "Watchdog caught", "rank 0 waits"},
                      {{"/logs/run/rank_1.log", 3}, "Watchdog caught", "rank 1 waits"}};
  verdict.counter_check = "Rank 2's dump could be older.";
  verdict.fix = "Look at rank 2.";
  verdict.collect = {"py-spy dump", "a second dump"};
  verdict.ranks_without_evidence = {"3"};
  return verdict;
}

HangEvidence small_evidence() {
  HangEvidence evidence;
  evidence.files = {
      {.path = "/logs/run/rank_0.log", .formats = {"watchdog_log"}},
      {.path = "/logs/run/rank_1.log", .formats = {"watchdog_log"}, .note = "ends inside line 9"},
      {.path = "/logs/run/core"}};
  evidence.unread.push_back({"/logs/run/core", Status::corrupt_data("binary of no known format")});
  return evidence;
}

TEST(VerdictTextTest, SaysAllThatThereIs) {
  EXPECT_EQ(to_text(small_verdict(), small_evidence()),
            "VERDICT   rank 2 did not make all_reduce 78 of group tp\n"
            "kind      rank_not_entered: a rank did not make the call that its group waits for\n"
            "culprit   rank 2\n"
            "stuck     all_reduce, sequence 78, group tp\n"
            "grade     likely: it explains these lines best\n"
            "\n"
            "why       Ranks 0, 1 and 3 have called 78 operations, rank 2 has called 77.\n"
            "evidence  rank_0.log:12  Watchdog caught\n"
            "            => rank 0 waits\n"
            "          rank_1.log:3  Watchdog caught\n"
            "            => rank 1 waits\n"
            "\n"
            "FIX       Look at rank 2.\n"
            "collect   1. py-spy dump\n"
            "          2. a second dump\n"
            "\n"
            "victims   ranks 0, 1, 3 only wait: nothing is wrong there\n"
            "but       Rank 2's dump could be older.\n"
            "\n"
            "read      2 files in /logs/run/: watchdog_log x2\n"
            "not read  core: binary of no known format\n"
            "          rank_1.log: ends inside line 9\n"
            "missing   nothing from rank 3\n");
}

TEST(VerdictTextTest, NamesNobodyWhereNobodyIsKnown) {
  const std::string text = to_text(Verdict{}, HangEvidence{});
  EXPECT_NE(text.find("culprit   cannot be named from this evidence\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("stuck "), std::string::npos) << text;
  EXPECT_NE(text.find("grade     cannot tell"), std::string::npos) << text;
}

TEST(VerdictTextTest, CycleIsDrawn) {
  Verdict verdict = small_verdict();
  verdict.kind = FaultKind::order_inversion;
  verdict.cycle = {{"0", "1", "tp", "all_reduce 7"}, {"1", "0", "cp", "all_gather 3"}};
  const std::string text = to_text(verdict, HangEvidence{});
  EXPECT_NE(text.find("cycle     rank 0 --> rank 1 in all_reduce 7 of group tp\n"
                      "          rank 1 --> rank 0 in all_gather 3 of group cp\n"),
            std::string::npos)
      << text;
}

Verdict huge_verdict() {
  Verdict verdict = small_verdict();
  const std::string words = "many words \xff\x80\x1b[2J that go on ";
  std::string paragraph;
  for (int i = 0; i < 40; ++i) paragraph += words;
  verdict.title = verdict.fix = verdict.counter_check = verdict.op = verdict.group = paragraph;
  verdict.suspects.assign(100, "");
  for (int i = 0; i < 100; ++i) {
    verdict.why.push_back(paragraph);
    verdict.collect.push_back(paragraph);
    verdict.evidence.push_back({{"/a/" + std::string(150, 'f'), i}, paragraph, concat("says ", i)});
    verdict.victims.push_back(concat(2 * i));
    verdict.culprits.push_back(concat("process ", i, " of a host with a long name"));
    verdict.ranks_without_evidence.push_back(concat(2 * i));
    verdict.cycle.push_back({concat(i), concat(i + 1), concat("g", i), paragraph});
    GroupState group;
    group.name = concat("group ", i);
    for (int k = 0; k < 3; ++k) group.members.push_back({concat(k), i, i, k, paragraph, true, true});
    verdict.groups.push_back(group);
  }
  return verdict;
}

TEST(VerdictTextTest, IsOneScreenWhateverTheEvidence) {
  HangEvidence evidence;
  for (int i = 0; i < 100; ++i)
    evidence.unread.push_back({concat("file", i), Status::corrupt_data("broken")});
  for (const std::size_t columns : {80U, 100U}) {
    const std::string text = to_text(huge_verdict(), evidence, columns);
    const auto lines = lines_of(text);
    EXPECT_LE(lines.size(), 50U) << text;
    for (const std::string& line : lines) EXPECT_LE(columns_of(line), columns) << line;
    EXPECT_EQ(printable(text, false), text);
    for (const char* label :
         {"VERDICT ", "kind ", "culprit ", "why ", "FIX ", "collect ", "cycle ", "groups "})
      EXPECT_NE(text.find(label), std::string::npos) << label;
    EXPECT_NE(text.find("more lines (--verbose)"), std::string::npos);
  }
  EXPECT_GT(lines_of(to_text(huge_verdict(), evidence, 100, true)).size(), 400U);
}

TEST(VerdictTextTest, FoldersThatHaveNothingInCommonStayWhole) {
  HangEvidence evidence;
  evidence.files = {{.path = "/a/x.log", .formats = {"f"}}, {.path = "b/y.log"}, {.path = "standard input"}};
  Verdict verdict;
  verdict.evidence = {{{"/a/x.log", 1}, "line", ""}};
  const std::string text = to_text(verdict, evidence);
  EXPECT_NE(text.find("/a/x.log:1  line"), std::string::npos) << text;
  EXPECT_NE(text.find("read      1 file: f\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace ringcomm::diag
