// SPDX-License-Identifier: Apache-2.0
// A record as it lies on disk, and a rank that writes one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ringcomm/diag/recorder.hpp"

namespace ringcomm::test {

std::string bytes_of_file(const std::filesystem::path& path);
/// Puts the right checksum in after a change of the header.
void fix_checksum(std::string& bytes);

/// Rank `rank` of `size` with one channel over all of them.
struct WritingRank {
  WritingRank(const std::filesystem::path& folder, int own_rank, int ranks, std::uint32_t entries = 1024,
              std::uint64_t job = 7);
  Descriptor next() {
    return {.op = OpCode::all_reduce,
            .dtype = DType::float32,
            .reduce_op = ReduceOp::sum,
            .sequence = ++sequence,
            .bytes = 4096,
            .signature = 99,
            .step = 0,
            .block = rank};
  }
  /// A whole operation: a block to the right neighbour, one from the left.
  Descriptor run();
  /// One that ends in the wait for the left neighbour.
  Descriptor begin();
  std::string bytes() const { return bytes_of_file(recorder->path()); }
  int left() const { return (rank + size - 1) % size; }
  int right() const { return (rank + 1) % size; }

  int rank, size;
  std::unique_ptr<diag::Recorder> recorder;
  ChannelSink* sink = nullptr;
  std::uint32_t sequence = 0;
  int block = 0;
};

}  // namespace ringcomm::test
