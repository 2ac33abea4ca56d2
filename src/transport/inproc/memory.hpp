// SPDX-License-Identifier: Apache-2.0
// Threads of one process see each other's memory anyway; the board only counts who still needs it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/common/peer_memory.hpp"

namespace ringcomm::inline v0::transport::inproc {

/// A zeroed mapping whose pages appear when they are touched.
class ControlMemory {
 public:
  /// out_of_memory when the system refuses.
  static Result<std::shared_ptr<ControlMemory>> create(std::size_t bytes);
  ~ControlMemory();
  ControlMemory(const ControlMemory&) = delete;
  ControlMemory& operator=(const ControlMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  ControlMemory(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  std::size_t bytes_;
};

/// What the ranks of one communicator share. Any thread.
class Board {
 public:
  explicit Board(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}
  void put_control(int rank, std::shared_ptr<ControlMemory> memory);
  /// Null until that rank has put it.
  std::shared_ptr<ControlMemory> control(int rank) const;
  void put_segment(int rank, std::uint32_t id, std::shared_ptr<Segment> segment);
  void take_back(int rank, std::uint32_t id);
  void take_back_all(int rank);
  /// Null when it was taken back.
  std::shared_ptr<Segment> segment(int rank, std::uint32_t id) const;

 private:
  struct Rank {
    std::shared_ptr<ControlMemory> control;
    std::map<std::uint32_t, std::shared_ptr<Segment>> segments;
  };
  mutable std::mutex mutex_;
  std::vector<Rank> ranks_;
};

class Memory final : public PeerMemory {
 public:
  /// All ranks have put their control memory.
  Memory(std::shared_ptr<Board> board, int rank, int ranks);
  ~Memory() override;
  std::byte* own_control() override;
  const std::byte* control(int peer) override;
  FutexScope futex_scope() const override { return FutexScope::threads; }
  Status announce(int peer, std::uint32_t segment_id, const std::shared_ptr<Segment>& segment) override;
  void withdraw(std::uint32_t segment_id) override;
  Result<std::shared_ptr<Segment>> map(int peer, std::uint32_t segment_id) override;
  /// A thread cannot die alone.
  Status check_alive(int& culprit) override;

 private:
  std::shared_ptr<Board> board_;
  int rank_;
  std::vector<std::shared_ptr<ControlMemory>> controls_;
};

}  // namespace ringcomm::inline v0::transport::inproc
