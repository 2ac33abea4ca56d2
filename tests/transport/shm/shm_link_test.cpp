// SPDX-License-Identifier: Apache-2.0
// Both ends of a socket in one process; a hostile end sends what a Link never would. The oracle for memory is
// a number written through the owner's mapping and read through the peer's.
#include "transport/shm/link.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "support/process_ranks.hpp"

namespace ringcomm::transport::shm {
namespace {

using bootstrap::UniqueFd;

struct Pair {
  Pair() {
    auto ends = bootstrap::make_socket_pair();
    ours.emplace(std::move(ends.value().first), 1, ::getpid());
    theirs = std::move(ends.value().second);
  }
  void send(const Announcement& announcement, int fd = -1) {
    bootstrap::send_packet(theirs.get(), std::as_bytes(std::span(&announcement, 1)), fd);
  }
  std::optional<Link> ours;  ///< leads to rank 1
  UniqueFd theirs;
};

std::shared_ptr<Segment> segment_of(std::size_t bytes) {
  return Segment::create({.bytes = bytes, .name = "ringcomm-link-test"}).value();
}

bool has(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string_view::npos;
}

TEST(ShmLinkTest, AnnouncedSegmentIsMappedReadOnlyAndReallyShared) {
  Pair pair;
  Link owner(std::move(pair.theirs), 0, ::getpid());
  const auto segment = segment_of(10'000);
  ASSERT_TRUE(owner.announce(7, *segment).is_ok());
  auto mapped = pair.ours->map(7);
  ASSERT_TRUE(mapped.is_ok()) << mapped.status().to_string();
  EXPECT_NE(mapped.value()->data(), segment->data());
  std::memset(segment->data(), 42, 10'000);
  EXPECT_EQ(mapped.value()->data()[9'999], std::byte{42});
  EXPECT_EQ(::mprotect(mapped.value()->data(), 4096, PROT_READ | PROT_WRITE), -1) << "peers must not write";
}

TEST(ShmLinkTest, SegmentsAreFoundByIdInAnyOrderAndOnlyOnce) {
  Pair pair;
  Link owner(std::move(pair.theirs), 0, ::getpid());
  const auto first = segment_of(1);
  const auto second = segment_of(5000);
  ASSERT_TRUE(owner.announce(1, *first).is_ok());
  ASSERT_TRUE(owner.announce(2, *second).is_ok());
  EXPECT_EQ(pair.ours->map(2).value()->bytes(), second->bytes());
  EXPECT_EQ(pair.ours->map(1).value()->bytes(), first->bytes());
  EXPECT_EQ(pair.ours->map(1).status().code(), StatusCode::not_found);
}

TEST(ShmLinkTest, LocalMemoryIsRefused) {
  Pair pair;
  const auto local = Segment::create({.bytes = 1, .kind = SegmentKind::local}).value();
  EXPECT_EQ(pair.ours->announce(1, *local).code(), StatusCode::invalid_argument);
}

TEST(ShmLinkTest, PeerThatLeftIsLostAfterItsLastAnnouncement) {
  Pair pair;
  const auto segment = segment_of(1);
  {
    Link owner(std::move(pair.theirs), 0, ::getpid());
    ASSERT_TRUE(owner.announce(3, *segment).is_ok());
  }
  EXPECT_TRUE(pair.ours->map(3).is_ok());
  const Status status = pair.ours->map(4).status();
  EXPECT_EQ(status.code(), StatusCode::peer_lost);
  EXPECT_TRUE(has(status, "rank 1 (pid ")) << status.to_string();
  EXPECT_EQ(pair.ours->announce(5, *segment).code(), StatusCode::peer_lost);
}

TEST(ShmLinkTest, FullSocketIsAnErrorAndNotAWait) {
  Pair pair;
  const auto segment = segment_of(1);
  Status status;
  for (std::uint32_t id = 1; id < 100'000 && status.is_ok(); ++id) status = pair.ours->announce(id, *segment);
  EXPECT_EQ(status.code(), StatusCode::not_available);
  EXPECT_TRUE(has(status, "rank 1 has not read the announcements")) << status.to_string();
}

TEST(ShmLinkHostileTest, GarbageNamesTheRankAndLeaksNoDescriptor) {
  const int before = test::open_descriptors();
  const auto segment = segment_of(1);
  Announcement good;
  good.segment_id = 1;
  good.bytes = 1;
  Announcement wrong_magic = good;
  wrong_magic.magic ^= 1;
  const auto expect_corrupt = [](Pair& pair) {
    const Status status = pair.ours->map(1).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data);
    EXPECT_TRUE(has(status, "rank 1")) << status.to_string();
  };
  {
    Pair pair;
    pair.send(good);  // no descriptor
    expect_corrupt(pair);
  }
  {
    Pair pair;
    pair.send(wrong_magic, segment->fd());
    expect_corrupt(pair);
  }
  for (const std::size_t bytes : {1U, 15U, 17U, 5000U}) {
    Pair pair;
    bootstrap::send_packet(pair.theirs.get(), std::vector<std::byte>(bytes, std::byte{0x52}), segment->fd());
    expect_corrupt(pair);
  }
  EXPECT_EQ(test::open_descriptors(), before + 1) << "only the segment's own";
}

TEST(ShmLinkHostileTest, DescriptorsThatCouldKillTheReaderAreRefused) {
  Announcement announcement;
  announcement.segment_id = 1;
  announcement.bytes = 8192;
  const UniqueFd unsealed(::memfd_create("ringcomm-link-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 8192), 0);
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto small = segment_of(4096);
  for (const int fd : {unsealed.get(), file.get(), device.get(), small->fd()}) {
    Pair pair;
    pair.send(announcement, fd);
    const Status status = pair.ours->map(1).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data) << status.to_string();
    EXPECT_TRUE(has(status, "segment 1 of rank 1")) << status.to_string();
  }
  announcement.bytes = ~std::uint64_t{0};
  Pair pair;
  pair.send(announcement, small->fd());
  EXPECT_FALSE(pair.ours->map(1).is_ok());
}

TEST(ShmLinkHostileTest, PacketsOfAnotherProcessAreRefused) {
  Pair pair;
  test::ProcessRanks child(1, [&](int, const test::RankVoice&) {
    Announcement announcement;
    announcement.segment_id = 1;
    pair.send(announcement, 0);
    return std::string();
  });
  child.wait(0, std::chrono::seconds(5));
  const Status status = pair.ours->map(1).status();
  EXPECT_EQ(status.code(), StatusCode::corrupt_data);
  EXPECT_TRUE(has(status, "process " + std::to_string(child.pid(0)) + " wrote to the socket of rank 1"))
      << status.to_string();
}

TEST(ShmLinkHostileTest, UnwantedAnnouncementsAreBoundedAndForgotten) {
  Pair pair;
  Link owner(std::move(pair.theirs), 0, ::getpid());
  const auto segment = segment_of(1);
  const int before = test::open_descriptors();
  for (std::uint32_t id = 1; id <= 20; ++id) ASSERT_TRUE(owner.announce(id, *segment).is_ok());
  EXPECT_EQ(pair.ours->map(99).status().code(), StatusCode::not_found);
  EXPECT_EQ(pair.ours->unread_count(), 20U);
  pair.ours->forget_unless([](std::uint32_t id) { return id == 20; });
  EXPECT_EQ(test::open_descriptors(), before + 1);
  EXPECT_TRUE(pair.ours->map(20).is_ok());
}

}  // namespace
}  // namespace ringcomm::transport::shm
