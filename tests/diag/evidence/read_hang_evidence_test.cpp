// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "diag/evidence/file_list.hpp"
#include "diag/evidence/reader.hpp"
#include "diag/evidence/samples.hpp"
#include "ringcomm/core/text.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

namespace fs = std::filesystem;

class EvidenceFolderTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }
  HangEvidence read(const std::vector<std::string>& names = {""}) const {
    std::vector<fs::path> paths;
    for (const std::string& name : names) paths.push_back(name.empty() ? root_ : root_ / name);
    return read_hang_evidence(paths);
  }
  static std::string dump(int enqueued, int completed) {
    return samples::as_json({.groups = {{"0", "default_pg", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"}},
                             .status = {{0, enqueued, -1, completed}},
                             .calls = {{.seq = enqueued}}});
  }

  test::TempDir dir_;
  fs::path root_ = dir_.path();
};

/// All that explain() may look at, as one text.
std::string told(const HangEvidence& evidence) {
  std::string text;
  for (const FileRead& file : evidence.files)
    text += concat(file.path, " ", file.facts, " ", file.note, "\n");
  for (const OpFact& op : evidence.ops)
    text += concat(op.who.rank, op.name, *op.seq, " ", op.source.file, "\n");
  for (const CounterFact& one : evidence.counters)
    text +=
        concat(one.who.rank, " ", one.enqueued.value_or(-9), " ", one.snapshot, " ", one.source.file, "\n");
  for (const UnreadFile& one : evidence.unread) text += concat(one.file, one.status.message(), "\n");
  return text;
}

TEST_F(EvidenceFolderTest, TheOrderOfThePathsDoesNotMatter) {
  for (int rank = 0; rank < 12; ++rank) put(concat("fr/rank_", rank, ".json"), dump(5 + rank % 2, 5));
  put("fr/rank_20.json", "");
  put("notes.md", "Nothing is known yet.\n");
  const HangEvidence evidence = read();
  ASSERT_EQ(evidence.counters.size(), 12U);
  for (int i = 0; i < 12; ++i) {  // 2 before 10
    EXPECT_EQ(evidence.counters[static_cast<std::size_t>(i)].who.rank, i);
    const int file = evidence.counters[static_cast<std::size_t>(i)].source.file;
    EXPECT_EQ(fs::path(evidence.files[static_cast<std::size_t>(file)].path).filename(),
              concat("rank_", i, ".json"));
  }
  EXPECT_EQ(evidence.world_size, 12);
  ASSERT_EQ(evidence.unread.size(), 1U);
  EXPECT_EQ(evidence.unread[0].status.message(), "empty (0 bytes)");
  // Notes are no missing evidence.
  EXPECT_EQ(evidence.files.back().note, "no line of a known format");
  EXPECT_EQ(told(read({"notes.md", "fr/rank_7.json", "fr", "fr/rank_7.json", ""})), told(evidence));
}

TEST_F(EvidenceFolderTest, CopiesGiveNoFactsTwice) {
  put("a/rank_1.json", dump(6, 5));
  put("b/rank_1.json", dump(6, 5));
  put("a/rank_2.json", dump(6, 5));  // the same bytes of another rank
  const HangEvidence evidence = read();
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].who.rank, 1);
  EXPECT_EQ(evidence.ops[1].who.rank, 2);
  ASSERT_EQ(evidence.files.size(), 3U);
  EXPECT_NE(evidence.files[2].note.find("a copy of "), std::string::npos);
}

TEST_F(EvidenceFolderTest, TwoDumpsOfARankAreSnapshotsInTheOrderOfTheirCounters) {
  put("after/rank_1.json", dump(9, 8));
  put("before/rank_1.json", dump(6, 5));
  put("after/rank_2.json", dump(6, 5));
  const HangEvidence evidence = read();
  ASSERT_EQ(evidence.counters.size(), 3U);
  EXPECT_EQ(evidence.counters[0].enqueued, 9);
  EXPECT_EQ(evidence.counters[0].snapshot, 1);
  EXPECT_EQ(evidence.ops[0].snapshot, 1);
  EXPECT_EQ(evidence.counters[1].snapshot, 0);  // rank 2 has one dump only
  EXPECT_EQ(evidence.counters[2].enqueued, 6);
  EXPECT_EQ(evidence.counters[2].snapshot, 0);
}

TEST_F(EvidenceFolderTest, RasReportsInTwoFilesAreSnapshots) {
  const auto report = [](int count) {
    return concat(
        R"({"communicators": [{"hash": "0x1", "size": 1, "ranks": [{"rank": 0, "collective_counts": {"AllReduce": )",
        count, "}}]}]}");
  };
  put("ras_t10.json", report(7));
  put("ras_t2.json", report(7));
  put("older.json", report(3));
  const HangEvidence evidence = read();
  ASSERT_EQ(evidence.counters.size(), 3U);  // older.json, ras_t2.json, ras_t10.json
  EXPECT_EQ(evidence.counters[0].launches.at("AllReduce"), 3);
  EXPECT_EQ(evidence.counters[0].snapshot, 0);
  EXPECT_EQ(evidence.counters[1].snapshot, 1);
  EXPECT_EQ(evidence.counters[2].snapshot, 2);
}

TEST_F(EvidenceFolderTest, WhatIsNoFileIsSaidAndNotReadForever) {
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  fs::create_directory(root_ / "loop");
  fs::create_directory_symlink(root_, root_ / "loop" / "again");
  put("core.bin", std::string(5000, '\0'));
  put("1/2/3/4/5/6/7/8/9/deep.json", dump(1, 0));
  const HangEvidence evidence = read({"", "absent.json"});
  std::vector<std::string> reasons;
  for (const UnreadFile& one : evidence.unread)
    reasons.push_back(concat(fs::path(one.file).filename().string(), ": ", one.status.message()));
  std::ranges::sort(reasons);
  EXPECT_EQ(reasons,
            (std::vector<std::string>{"8: deeper than 8 folders", "absent.json: cannot be opened",
                                      "core.bin: binary, of no known format", "pipe: no ordinary file"}));
  EXPECT_TRUE(evidence.ops.empty());
}

TEST_F(EvidenceFolderTest, LimitsOnFilesAndBytes) {
  put("rank_1.json", dump(1, 0));
  put("rank_2.json", dump(1, 0));
  const std::vector<fs::path> paths{root_};
  HangEvidence evidence = read_hang_evidence(paths, {.files = 1});
  EXPECT_EQ(evidence.ops.size(), 1U);
  ASSERT_EQ(evidence.unread.size(), 1U);
  EXPECT_EQ(evidence.unread[0].status.message(), "beyond the first 1 files");
  evidence = read_hang_evidence(paths, {.file_bytes = 100});
  EXPECT_TRUE(evidence.ops.empty());
  ASSERT_EQ(evidence.unread.size(), 2U);
  EXPECT_EQ(evidence.unread[0].status.message(), "larger than 100 B");
}

TEST(FileListTest, NumbersInNamesCountAsNumbers) {
  EXPECT_TRUE(comes_before("rank_2", "rank_10"));
  EXPECT_FALSE(comes_before("rank_10", "rank_2"));
  EXPECT_TRUE(comes_before("a", "ab"));
  EXPECT_TRUE(comes_before("t1", "t01") != comes_before("t01", "t1"));
  EXPECT_FALSE(comes_before("t1", "t1"));
  EXPECT_TRUE(comes_before("a9b", "a10a"));
}

TEST(FileListTest, RanksAreTheLastNumberOfAName) {
  EXPECT_EQ(rank_of_name("/x/nccl_trace_rank_3"), 3);
  EXPECT_EQ(rank_of_name("y12/rank_3.json"), 3);
  EXPECT_EQ(rank_of_name("comm_lib_trace_rank_container-node07_40"), 40);
  EXPECT_EQ(rank_of_name("z9/trace"), kUnknown);
  EXPECT_EQ(rank_of_name("dump_99999999999999"), kUnknown);
}

}  // namespace
}  // namespace ringcomm::diag
