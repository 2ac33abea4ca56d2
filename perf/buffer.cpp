// SPDX-License-Identifier: Apache-2.0
#include "buffer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "try.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kRankBytesMax = 1U << 30;

}  // namespace

std::size_t last_cache_bytes() {
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = sysconf(name); bytes > 0) return static_cast<std::size_t>(bytes);
  }
  return 32U << 20;
}

std::size_t cold_bytes(const Options& options) {
  return options.cold_bytes > 0 ? options.cold_bytes : 2 * last_cache_bytes();
}

void flush_caches(const Options& options, int ranks) {
  thread_local std::vector<std::uint8_t> memory;
  memory.resize(std::min(cold_bytes(options) / static_cast<std::size_t>(ranks), kRankBytesMax));
  for (std::size_t i = 0; i < memory.size(); i += kLine) ++memory[i];
}

std::size_t copies_needed(std::size_t bytes_each, std::size_t bytes_wanted, int ranks, bool is_cold) {
  if (!is_cold || bytes_each == 0) return 1;
  const std::size_t per_rank = std::min(bytes_wanted / static_cast<std::size_t>(ranks), kRankBytesMax);
  return std::max<std::size_t>(1, (per_rank + bytes_each - 1) / bytes_each);
}

void Buffer::replicate() {
  for (std::size_t i = 0; i < copies_; ++i) {
    if (i != index_ && bytes_ > 0) std::memcpy(base_ + i * stride_, data(), bytes_);
  }
}

Result<Buffer> Buffer::allocate(Communicator& comm, const Options& options, std::size_t bytes,
                                std::size_t unaligned, Memory memory) {
  Buffer buffer;
  buffer.bytes_ = bytes;
  buffer.stride_ = (bytes + unaligned + kLine - 1) / kLine * kLine;
  buffer.copies_ = copies_needed(buffer.stride_, cold_bytes(options), comm.size(), options.is_cold);
  const std::size_t total = std::max(buffer.stride_ * buffer.copies_, kLine);
  if (memory == Memory::window) {
    PERF_TRY_ASSIGN(buffer.window_, comm.allocate(total));
    buffer.base_ = buffer.window_.data() + unaligned;
  } else {
    buffer.private_ = std::make_unique<std::byte[]>(total + kLine);
    void* start = buffer.private_.get();
    std::size_t space = total + kLine;
    buffer.base_ = static_cast<std::byte*>(std::align(kLine, total, start, space)) + unaligned;
  }
  return buffer;
}

}  // namespace ringcomm::perf
