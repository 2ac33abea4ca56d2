// SPDX-License-Identifier: Apache-2.0
// The oracle is the kernel: what fcntl, mincore, /proc/self/maps and forked children see of a segment.
#include "ringcomm/device/segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "device/fork_util.hpp"
#include "ringcomm/core/log.hpp"

namespace ringcomm {
namespace {

// The level is read once, at the first line that anybody logs.
const int info_is_logged = setenv("RINGCOMM_DEBUG", "info", 1);

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::shared_ptr<Segment> make(SegmentOptions options) {
  auto segment = Segment::create(options);
  EXPECT_TRUE(segment.is_ok()) << segment.status().to_string();
  return segment.is_ok() ? segment.value() : nullptr;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

std::size_t pages_in_memory(const Segment& segment) {
  std::vector<unsigned char> pages(segment.bytes() / page_bytes());
  EXPECT_EQ(mincore(segment.data(), segment.bytes(), pages.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](auto p) { return (p & 1) != 0; }));
}

class SegmentKindTest : public testing::TestWithParam<SegmentKind> {};

TEST_P(SegmentKindTest, IsWholePagesOfZeros) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page_bytes(), page_bytes() + 1}) {
    const auto segment = make({.bytes = bytes, .kind = GetParam()});
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->bytes(), bytes <= page_bytes() ? page_bytes() : 2 * page_bytes());
    EXPECT_TRUE(std::all_of(segment->data(), segment->data() + segment->bytes(),
                            [](std::byte b) { return b == std::byte{0}; }));
    std::memset(segment->data(), 1, segment->bytes());
  }
}

TEST_P(SegmentKindTest, EveryPageIsThereBeforeCreateReturns) {
  const auto segment = make({.bytes = 64 * page_bytes(), .kind = GetParam()});
  EXPECT_EQ(pages_in_memory(*segment), 64U);
}

TEST_P(SegmentKindTest, RefusesSizesThatOverflow) {
  EXPECT_EQ(Segment::create({.bytes = SIZE_MAX, .kind = GetParam()}).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(Segment::create({.bytes = SIZE_MAX / 2, .kind = GetParam()}).status().code(),
            StatusCode::invalid_argument);
}

TEST_P(SegmentKindTest, RefusesMoreThanTheMachineHasBeforeTouchingIt) {
  EXPECT_EQ(Segment::create({.bytes = std::size_t{1} << 50, .kind = GetParam()}).status().code(),
            StatusCode::out_of_memory);
}

TEST_P(SegmentKindTest, AMemoryNodeThatDoesNotExistIsOnlyAWish) {
  EXPECT_NE(make({.bytes = 1, .kind = GetParam(), .memory_node = 0}), nullptr);
  EXPECT_NE(make({.bytes = 1, .kind = GetParam(), .memory_node = 900}), nullptr);
  EXPECT_NE(make({.bytes = 1, .kind = GetParam(), .memory_node = 1 << 20}), nullptr);
}

TEST_P(SegmentKindTest, RefusedPinIsALineInTheLogAndNotAnError) {
  const auto child = [] {
    const rlimit none{0, 0};
    if (info_is_logged != 0) return 4;
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 1;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;  // root may lock without a limit
    static std::string lines;
    set_log_sink([](LogLevel, std::string_view line) { lines += line; });
    const auto segment = Segment::create({.bytes = 1, .kind = GetParam(), .pin = true});
    if (!segment.is_ok() || segment.value()->is_pinned()) return 2;
    return lines.find("not pinned: ") == std::string::npos ? 3 : 0;
  };
  EXPECT_EQ(exit_code_of_child(child), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SegmentKindTest, testing::Values(SegmentKind::local, SegmentKind::shareable),
                         [](const auto& kind) {
                           return kind.param == SegmentKind::local ? "local" : "shareable";
                         });

TEST(SegmentTest, CarriesItsNameAndClosesOnExec) {
  const auto segment = make({.bytes = 1, .name = "ringcomm-named"});
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_NE(text.find("memfd:ringcomm-named"), std::string::npos);
  EXPECT_NE(fcntl(segment->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SegmentTest, LocalMemoryHasNoDescriptor) {
  EXPECT_EQ(make({.bytes = 1, .kind = SegmentKind::local})->fd(), -1);
}

TEST(SegmentTest, CannotShrinkGrowUnsealOrBeMappedWritable) {
  const auto segment = make({.bytes = page_bytes()});
  const int fd = segment->fd();
  EXPECT_NE(ftruncate(fd, 0), 0);
  EXPECT_NE(ftruncate(fd, static_cast<off_t>(2 * page_bytes())), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(mmap(nullptr, page_bytes(), PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_NE(pwrite(fd, "x", 1, 0), 1);
}

TEST(SegmentTest, FileSizeLimitIsAnErrorAndNotASignal) {
  const auto child = [] {
    const rlimit one_page{page_bytes(), page_bytes()};
    if (setrlimit(RLIMIT_FSIZE, &one_page) != 0) return 1;
    const auto refused = Segment::create({.bytes = 2 * page_bytes()});
    if (refused.status().code() != StatusCode::out_of_memory) return 2;
    return Segment::create({.bytes = page_bytes()}).is_ok() ? 0 : 3;
  };
  EXPECT_EQ(exit_code_of_child(child), 0);
}

TEST(SegmentTest, GivesMemoryAndDescriptorBack) {
  auto segment = make({.bytes = 1});
  const int fd = segment->fd();
  std::byte* data = segment->data();
  segment.reset();
  EXPECT_FALSE(is_open(fd));
  EXPECT_NE(msync(data, page_bytes(), MS_ASYNC), 0);
}

TEST(SegmentTest, ContainsOnlyItsOwnBytes) {
  const auto segment = make({.bytes = page_bytes()});
  const std::byte* data = segment->data();
  EXPECT_TRUE(segment->contains(data, page_bytes()));
  EXPECT_TRUE(segment->contains(data + page_bytes(), 0));
  EXPECT_FALSE(segment->contains(data, page_bytes() + 1));
  EXPECT_FALSE(segment->contains(data - 1, 1));
  EXPECT_FALSE(segment->contains(data + 1, SIZE_MAX));
}

TEST(SegmentTest, PeerSeesTheOwnersWritesAndCannotWrite) {
  const auto owner = make({.bytes = 3 * page_bytes()});
  auto peer = Segment::map_read_only(dup(owner->fd()), owner->bytes());
  ASSERT_TRUE(peer.is_ok()) << peer.status().to_string();
  owner->data()[page_bytes() + 5] = std::byte{42};
  EXPECT_EQ(peer.value()->data()[page_bytes() + 5], std::byte{42});
  const int status = status_of_child([&] {
    signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(peer.value()->data()) = std::byte{1};
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(SegmentTest, PeerOutlivesTheOwner) {
  auto owner = make({.bytes = 1});
  owner->data()[0] = std::byte{7};
  const auto peer = Segment::map_read_only(dup(owner->fd()), 1);
  owner.reset();
  ASSERT_TRUE(peer.is_ok());
  EXPECT_EQ(peer.value()->data()[0], std::byte{7});
}

void expect_refused_and_closed(int fd, std::size_t bytes, StatusCode code) {
  EXPECT_EQ(Segment::map_read_only(fd, bytes).status().code(), code);
  EXPECT_FALSE(is_open(fd));
}

TEST(SegmentTest, PeerRefusesWhatIsShorterThanAnnounced) {
  const auto owner = make({.bytes = page_bytes()});
  expect_refused_and_closed(dup(owner->fd()), page_bytes() + 1, StatusCode::corrupt_data);
  expect_refused_and_closed(dup(owner->fd()), SIZE_MAX, StatusCode::invalid_argument);
}

TEST(SegmentTest, PeerRefusesWhatCouldShrinkUnderIt) {
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, static_cast<off_t>(page_bytes())), 0);
  expect_refused_and_closed(unsealed, page_bytes(), StatusCode::corrupt_data);
  char path[] = "/tmp/ringcomm-segment-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(page_bytes())), 0);
  expect_refused_and_closed(file, page_bytes(), StatusCode::corrupt_data);
}

TEST(SegmentTest, PeerRefusesABadDescriptor) {
  EXPECT_EQ(Segment::map_read_only(-1, 1).status().code(), StatusCode::invalid_argument);
  const int closed = dup(0);
  close(closed);
  EXPECT_EQ(Segment::map_read_only(closed, 1).status().code(), StatusCode::invalid_argument);
}

TEST(SegmentTest, ForkedChildSeesItUnlessExcluded) {
  const auto shared = make({.bytes = 1});
  EXPECT_EQ(exit_code_of_child([&] { return shared->data()[0] = std::byte{9}, 0; }), 0);
  EXPECT_EQ(shared->data()[0], std::byte{9});
  const auto excluded = make({.bytes = 1});
  ASSERT_TRUE(excluded->exclude_from_fork().is_ok());
  EXPECT_EQ(exit_code_of_child([&] {
              return msync(excluded->data(), page_bytes(), MS_ASYNC) != 0 && errno == ENOMEM ? 0 : 1;
            }),
            0);
}

TEST(SegmentTest, ForkedChildsCopyLeavesForeignMappingsAlone) {
  auto excluded = make({.bytes = 1});
  ASSERT_TRUE(excluded->exclude_from_fork().is_ok());
  EXPECT_EQ(exit_code_of_child([&] {
              void* place = excluded->data();
              void* mine = mmap(place, page_bytes(), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
              excluded.reset();
              return mine == place && msync(mine, page_bytes(), MS_ASYNC) == 0 ? 0 : 1;
            }),
            0);
}

TEST(SegmentTest, AdoptedMemoryIsReleasedOnceWithItsLastReader) {
  std::vector<std::byte> memory(100);
  int releases = 0;
  auto segment = Segment::adopt(memory.data(), memory.size(), [&releases] { ++releases; });
  EXPECT_EQ(segment->data(), memory.data());
  EXPECT_EQ(segment->bytes(), 100U);
  EXPECT_EQ(segment->fd(), -1);
  EXPECT_TRUE(segment->contains(memory.data() + 99, 1));
  EXPECT_FALSE(segment->contains(memory.data() + 99, 2));
  auto reader = segment;
  segment.reset();
  EXPECT_EQ(releases, 0);
  reader.reset();
  EXPECT_EQ(releases, 1);
}

}  // namespace
}  // namespace ringcomm
