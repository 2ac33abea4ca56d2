// SPDX-License-Identifier: Apache-2.0
#include "diag/record/record_bytes.hpp"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "diag/record/crc32.hpp"

namespace ringcomm::test {

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void fix_checksum(std::string& bytes) {
  constexpr std::size_t kEnd = offsetof(diag::RecordHeader, checksum);
  const std::uint32_t sum = diag::crc32(std::as_bytes(std::span(bytes.data(), kEnd)));
  std::memcpy(bytes.data() + kEnd, &sum, sizeof sum);
}

WritingRank::WritingRank(const std::filesystem::path& folder, int own_rank, int ranks, std::uint32_t entries,
                         std::uint64_t job)
    : rank(own_rank), size(ranks) {
  const diag::RecordIdentity identity{.job = job,
                                      .communicator = 0x1234,
                                      .rank = rank,
                                      .size = size,
                                      .world_rank = rank,
                                      .world_size = size,
                                      .transport = "inproc"};
  recorder = diag::Recorder::create(identity, {.folder = folder, .entries = entries});
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  sink = recorder->open_channel(members, 0, "dp");
}

Descriptor WritingRank::begin() {
  const Descriptor op = next();
  sink->enter(op, INT64_MAX, "train.py:12");
  sink->record(Direction::outgoing, op, right(), &block, OpState::posted);
  sink->record(Direction::incoming, op, left(), nullptr, OpState::posted);
  return op;
}

Descriptor WritingRank::run() {
  const Descriptor op = begin();
  sink->record(Direction::incoming, op, left(), nullptr, OpState::arrived);
  sink->record(Direction::incoming, op, left(), nullptr, OpState::computed);
  sink->record(Direction::incoming, op, left(), nullptr, OpState::released);
  sink->record(Direction::outgoing, op, right(), &block, OpState::released);
  sink->leave(op, StatusCode::ok);
  return op;
}

}  // namespace ringcomm::test
