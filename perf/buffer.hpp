// SPDX-License-Identifier: Apache-2.0
// Memory of a measured operation: window or private, and in several copies that take turns (--cold).
#pragma once

#include <memory>

#include "options.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::perf {

/// Of the last cache that the kernel reports; 32 MiB if it reports none.
std::size_t last_cache_bytes();
/// What --cold has to touch between two uses of a line, over all ranks.
std::size_t cold_bytes(const Options& options);
/// Writes so much memory that older lines leave the caches of `ranks` ranks that all call this.
void flush_caches(const Options& options, int ranks);

class Buffer {
 public:
  /// `unaligned` bytes are skipped at the front. With --cold there are as many copies as make up cold_bytes()
  /// over all ranks, at most 1 GiB per rank.
  static Result<Buffer> allocate(Communicator& comm, const Options& options, std::size_t bytes,
                                 std::size_t unaligned = 0) {
    return allocate(comm, options, bytes, unaligned, options.memory);
  }
  static Result<Buffer> allocate(Communicator& comm, const Options& options, std::size_t bytes,
                                 std::size_t unaligned, Memory memory);

  std::byte* data() const { return base_ + index_ * stride_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t copies() const { return copies_; }
  /// Gives every copy the contents of the present one.
  void replicate();
  /// Moves on to the next copy.
  void advance() { index_ = (index_ + 1) % copies_; }

 private:
  Window window_;
  std::unique_ptr<std::byte[]> private_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, stride_ = 0, copies_ = 1, index_ = 0;
};

/// How many copies --cold needs (1 without it): a pure function, for the tests.
std::size_t copies_needed(std::size_t bytes_each, std::size_t bytes_wanted, int ranks, bool is_cold);

}  // namespace ringcomm::perf
