// SPDX-License-Identifier: Apache-2.0
// Writes the flight records of a job that hangs, as large as asked for, to measure ringcomm-doctor hang with.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string_view>
#include <system_error>
#include <vector>

#include "ringcomm/diag/recorder.hpp"

namespace {

namespace rc = ringcomm;

int number_of(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 && value <= most ? value : 0;
}

/// Every rank runs `operations` operations of two messages; all but the culprit are in one more.
bool write_rank(int rank, int ranks, int operations, bool is_culprit, const std::filesystem::path& folder) {
  const auto recorder = rc::diag::Recorder::create({.job = 0x5ca1e,
                                                    .communicator = 1,
                                                    .rank = rank,
                                                    .size = ranks,
                                                    .world_rank = rank,
                                                    .world_size = ranks,
                                                    .transport = "scale"},
                                                   {.folder = folder / "new", .entries = 8192});
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  rc::ChannelSink* const sink = recorder->open_channel(members, 0, "world");
  if (sink == nullptr) {
    std::fprintf(stderr, "%s\n", recorder->where().c_str());
    return false;
  }
  rc::Descriptor op{
      .op = rc::OpCode::ring_rotate, .dtype = rc::DType::bfloat16, .bytes = 4096, .signature = 7};
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  for (int i = 0; i < operations + (is_culprit ? 0 : 1); ++i) {
    ++op.sequence;
    sink->enter(op, INT64_MAX, "scale.py:1");
    // No address: the ranks run one after another here, so that a slot would seem to be written too early.
    sink->record(rc::Direction::outgoing, op, right, nullptr, rc::OpState::posted);
    sink->record(rc::Direction::incoming, op, left, nullptr, rc::OpState::posted);
    if (i == operations) break;
    sink->record(rc::Direction::incoming, op, left, nullptr, rc::OpState::arrived);
    sink->record(rc::Direction::incoming, op, left, nullptr, rc::OpState::computed);
    sink->record(rc::Direction::incoming, op, left, nullptr, rc::OpState::released);
    sink->record(rc::Direction::outgoing, op, right, nullptr, rc::OpState::released);
    sink->leave(op, rc::StatusCode::ok);
  }
  // Out of the way of the next recorder, which trims what the dead have left.
  std::error_code error;
  std::filesystem::rename(recorder->path(), folder / recorder->path().filename(), error);
  return !error;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc == 4 ? number_of(argv[1], 1 << 20) : 0;
  const int operations = argc == 4 ? number_of(argv[2], 1 << 24) : 0;
  if (ranks == 0 || operations == 0) {
    const bool is_help = argc == 2 && std::strcmp(argv[1], "--help") == 0;
    std::fprintf(is_help ? stdout : stderr,
                 "usage: ringcomm-record-scale RANKS OPERATIONS FOLDER\n"
                 "Flight records of a job in which the rank RANKS / 3 has not entered the last operation.\n");
    return is_help ? 0 : 64;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (!write_rank(rank, ranks, operations, rank == ranks / 3, argv[3])) return 1;
  }
  return 0;
}
