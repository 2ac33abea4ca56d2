// SPDX-License-Identifier: Apache-2.0
// Known answers for the number of copies; a group of threads for the memory itself.
#include "../../perf/buffer.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ringcomm::perf {
namespace {

TEST(PerfBufferTest, CopiesMakeUpTheColdBytesOverAllRanks) {
  EXPECT_EQ(copies_needed(1024, 1 << 20, 2, false), 1U);
  EXPECT_EQ(copies_needed(1024, 1 << 20, 1, true), 1024U);
  EXPECT_EQ(copies_needed(1024, 1 << 20, 2, true), 512U);
  EXPECT_EQ(copies_needed(1000, 10000, 1, true), 10U);
  EXPECT_EQ(copies_needed(1001, 10000, 1, true), 10U);
  EXPECT_EQ(copies_needed(1 << 20, 1024, 1, true), 1U);
  EXPECT_EQ(copies_needed(0, 1024, 1, true), 1U);
  EXPECT_EQ(copies_needed(1 << 20, std::size_t{1} << 40, 1, true), 1024U);  // at most 1 GiB per rank
}

TEST(PerfBufferTest, ColdBufferComesRoundToItsFirstCopy) {
  const Status status = run_threads(2, [](Communicator& comm) -> Status {
    Options options;
    options.is_cold = true;
    options.cold_bytes = 64 << 10;
    for (const Memory memory : {Memory::window, Memory::private_memory}) {
      options.memory = memory;
      auto buffer = Buffer::allocate(comm, options, 1000, 4);
      if (!buffer.is_ok()) return buffer.status();
      EXPECT_EQ(buffer->copies(), 32U);
      std::set<std::byte*> seen;
      std::byte* const first = buffer->data();
      for (std::size_t i = 0; i < buffer->copies(); ++i, buffer->advance()) {
        EXPECT_TRUE(seen.insert(buffer->data()).second);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 4U);
        std::fill_n(buffer->data(), 1000, std::byte{7});
      }
      EXPECT_EQ(buffer->data(), first);
      std::fill_n(buffer->data(), 1000, std::byte{9});
      buffer->replicate();
      for (std::size_t i = 0; i < buffer->copies(); ++i, buffer->advance()) {
        EXPECT_EQ(buffer->data()[0], std::byte{9});
        EXPECT_EQ(buffer->data()[999], std::byte{9});
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm::perf
