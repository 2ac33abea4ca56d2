// SPDX-License-Identifier: Apache-2.0
// Real files in a directory of their own: what is read, in which order, and what is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm {
namespace {

namespace fs = std::filesystem;

class ReadPathsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ringcomm_read_paths_XXXXXX").native();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::vector<std::string> files_read(const fs::path& path) {
    unread_.clear();
    std::vector<std::string> names;
    for (const auto& reading : read_evidence_paths(std::array{path}, unread_))
      names.push_back(fs::path(reading.file).filename().native());
    return names;
  }

  static constexpr const char* kLog = "n1:1:2 [0] NCCL INFO NCCL version 2.27.3\n";
  fs::path folder_;
  std::vector<UnreadFile> unread_;
};

TEST_F(ReadPathsTest, FilesOfADirectoryAreReadInTheOrderOfTheirNames) {
  write("b.log", kLog);
  write("a.log", kLog);
  write("readme", "hello");
  fs::create_directory(folder_ / "deeper");
  write("deeper/c.log", kLog);
  EXPECT_EQ(files_read(folder_), (std::vector<std::string>{"a.log", "b.log"}));
  ASSERT_EQ(unread_.size(), 1U);
  EXPECT_EQ(unread_[0].file, (folder_ / "readme").native());
  EXPECT_EQ(unread_[0].status.code(), StatusCode::not_found);
}

TEST_F(ReadPathsTest, WhatCannotBeReadIsNamedWithTheReason) {
  EXPECT_TRUE(files_read(folder_).empty());
  ASSERT_EQ(unread_.size(), 1U);
  EXPECT_NE(unread_[0].status.message().find("holds no files"), std::string::npos);
  EXPECT_TRUE(files_read(folder_ / "missing").empty());
  ASSERT_EQ(unread_.size(), 1U);
  EXPECT_EQ(unread_[0].status.code(), StatusCode::not_found);
  EXPECT_NE(unread_[0].status.message().find("missing"), std::string::npos);
}

TEST_F(ReadPathsTest, PipesAndDevicesAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(files_read(folder_ / "pipe").empty());
  ASSERT_EQ(unread_.size(), 1U);
  EXPECT_NE(unread_[0].status.message().find("neither a file nor a directory"), std::string::npos);
  EXPECT_TRUE(files_read("/dev/zero").empty());
  ASSERT_EQ(unread_.size(), 1U);
}

TEST_F(ReadPathsTest, AFileAboveTheLimitIsNotReadWhole) {
  const fs::path path = write("big", kLog);
  fs::resize_file(path, (std::uintmax_t{64} << 20) + 1);
  EXPECT_TRUE(files_read(path).empty());
  ASSERT_EQ(unread_.size(), 1U);
  EXPECT_NE(unread_[0].status.message().find("more than 64 MiB"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm
