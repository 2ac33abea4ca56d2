// SPDX-License-Identifier: Apache-2.0
// The file system is the oracle: which files are there before, during and after; the rest is who is refused.
#include "bootstrap/store_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_dir.hpp"

namespace ringcomm::bootstrap {
namespace {

using ringcomm::test::TempDir;
using Names = std::vector<std::string>;

Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }

RankEntry dead_entry(int rank, int size) {
  RankEntry entry = make_entry(rank, size);
  ++entry.start_ticks;  // as if its process id had been given to another process
  return entry;
}

TEST(StoreDirectoryTest, MakesAnOwnerOnlyDirectoryAndRemovesItWithTheLastRank) {
  const TempDir temp;
  const auto path = temp.path() / "store";
  auto store = StoreDirectory::open(path);
  ASSERT_TRUE(store.is_ok()) << store.status().to_string();
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  const RankEntry first = make_entry(0, 2);
  const RankEntry second = make_entry(1, 2);
  ASSERT_TRUE(store->claim(first, soon()).is_ok());
  auto other = StoreDirectory::open(path);
  ASSERT_TRUE(other->claim(second, soon()).is_ok());
  EXPECT_EQ(other->live_entries().size(), 2U);
  const auto socket = store->listen(first.nonce, 1);
  ASSERT_TRUE(socket.is_ok()) << socket.status().to_string();
  EXPECT_TRUE(other->connect(first.nonce).is_open());
  store->leave(first);
  EXPECT_EQ(temp.names(), (Names{"store", "store/.ringcomm-store", "store/rank.1"}));
  other->leave(second);
  EXPECT_EQ(temp.names(), Names{});
}

TEST(StoreDirectoryTest, LeavesADirectoryThatTheUserMadeAndItsOtherFiles) {
  const TempDir temp;
  std::ofstream(temp.path() / "mine.txt") << "x";
  auto store = StoreDirectory::open(temp.path());
  ASSERT_TRUE(store.is_ok());
  const RankEntry me = make_entry(0, 1);
  ASSERT_TRUE(store->claim(me, soon()).is_ok());
  store->leave(me);
  EXPECT_EQ(temp.names(), Names{"mine.txt"});
}

TEST(StoreDirectoryTest, RefusesDirectoriesThatOthersMayWriteInto) {
  for (const mode_t mode : {0777U, 0770U, 0702U}) {
    const TempDir temp;
    ::chmod(temp.path().c_str(), mode);
    const auto store = StoreDirectory::open(temp.path());
    EXPECT_EQ(store.status().code(), StatusCode::invalid_argument) << mode;
    EXPECT_NE(store.status().message().find("others could pose as ranks"), std::string_view::npos);
  }
}

TEST(StoreDirectoryTest, RefusesADirectoryOfAnotherUser) {
  const TempDir temp;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(temp.path().c_str(), 12345, 12345), 0);
    const auto store = StoreDirectory::open(temp.path());
    EXPECT_EQ(store.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(store.status().message().find("belongs to user 12345"), std::string_view::npos);
  } else {
    EXPECT_EQ(StoreDirectory::open("/").status().code(), StatusCode::invalid_argument);
  }
}

TEST(StoreDirectoryTest, RefusesLinksFilesRelativePathsAndMissingParents) {
  const TempDir temp;
  std::ofstream(temp.path() / "file") << "x";
  ASSERT_EQ(::symlink(temp.path().c_str(), (temp.path() / "link").c_str()), 0);
  for (const auto& path : {temp.path() / "file", temp.path() / "link", temp.path() / "a" / "b",
                           std::filesystem::path("relative")}) {
    EXPECT_EQ(StoreDirectory::open(path).status().code(), StatusCode::invalid_argument) << path;
  }
}

TEST(StoreDirectoryTest, RankOfALiveProcessIsRefusedNamingBothProcesses) {
  const TempDir temp;
  auto store = StoreDirectory::open(temp.path());
  const RankEntry holder = make_entry(3, 4);
  ASSERT_TRUE(store->claim(holder, soon()).is_ok());
  RankEntry other = make_entry(3, 4);
  other.pid = 999'999;
  const Status status = store->claim(other, soon());
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  const std::string both =
      "is taken by process " + std::to_string(::getpid()) + " as well as by process 999999";
  EXPECT_NE(status.message().find(both), std::string_view::npos) << status.to_string();
  EXPECT_NE(status.message().find("rank 3 of file://"), std::string_view::npos) << status.to_string();
  // Whoever was refused must not take the holder's file along.
  store->leave(other);
  EXPECT_EQ(temp.names(), Names{"rank.3"});
}

TEST(StoreDirectoryTest, FilesOfDeadProcessesAreReplacedAndCleanedUp) {
  const TempDir temp;
  auto store = StoreDirectory::open(temp.path());
  for (const int rank : {0, 1}) {
    const RankEntry dead = dead_entry(rank, 2);
    std::ofstream(temp.path() / entry_file_name(rank)) << to_text(dead);
    ASSERT_TRUE(store->listen(dead.nonce, 1).is_ok());
  }
  EXPECT_EQ(temp.names().size(), 4U);
  EXPECT_TRUE(store->live_entries().empty());
  const RankEntry me = make_entry(0, 2);
  ASSERT_TRUE(store->claim(me, soon()).is_ok());
  EXPECT_EQ(store->live_entries().size(), 1U);
  store->leave(me);
  EXPECT_EQ(temp.names(), Names{});
}

TEST(StoreDirectoryTest, GarbageInARankFileIsReplaced) {
  const TempDir temp;
  auto store = StoreDirectory::open(temp.path());
  std::ofstream(temp.path() / "rank.0") << std::string(100'000, 'x');
  ASSERT_EQ(::symlink("/etc/passwd", (temp.path() / "rank.1").c_str()), 0);
  ASSERT_EQ(::mkfifo((temp.path() / "rank.2").c_str(), 0600), 0);
  EXPECT_TRUE(store->live_entries().empty());
  for (const int rank : {0, 1, 2}) EXPECT_TRUE(store->claim(make_entry(rank, 3), soon()).is_ok()) << rank;
  EXPECT_EQ(store->live_entries().size(), 3U);
}

TEST(StoreDirectoryTest, PathsLongerThanASocketAddressWork) {
  const TempDir temp;
  const auto path = temp.path() / std::string(200, 'd');
  auto store = StoreDirectory::open(path);
  ASSERT_TRUE(store.is_ok()) << store.status().to_string();
  const RankEntry me = make_entry(0, 1);
  ASSERT_TRUE(store->claim(me, soon()).is_ok());
  const auto socket = store->listen(me.nonce, 1);
  ASSERT_TRUE(socket.is_ok()) << socket.status().to_string();
  EXPECT_TRUE(store->connect(me.nonce).is_open());
  store->leave(me);
  EXPECT_EQ(temp.names(), Names{});
}

TEST(StoreDirectoryTest, RemovedDirectoryIsNotFoundSoThatItIsOpenedAgain) {
  const TempDir temp;
  auto store = StoreDirectory::open(temp.path() / "store");
  auto other = StoreDirectory::open(temp.path() / "store");
  const RankEntry me = make_entry(0, 2);
  ASSERT_TRUE(store->claim(me, soon()).is_ok());
  store->leave(me);
  EXPECT_EQ(other->claim(make_entry(1, 2), soon()).code(), StatusCode::not_found);
}

}  // namespace
}  // namespace ringcomm::bootstrap
