// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::inproc {

Result<std::shared_ptr<ControlMemory>> ControlMemory::create(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Status::out_of_memory(
        concat("mmap of ", format_bytes(bytes), " for the control segment failed: ", std::strerror(errno)));
  }
  return std::shared_ptr<ControlMemory>(new ControlMemory(static_cast<std::byte*>(data), bytes));
}

ControlMemory::~ControlMemory() { munmap(data_, bytes_); }

void Board::put_control(int rank, std::shared_ptr<ControlMemory> memory) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].control = std::move(memory);
}

std::shared_ptr<ControlMemory> Board::control(int rank) const {
  const std::lock_guard lock(mutex_);
  return ranks_[static_cast<std::size_t>(rank)].control;
}

void Board::put_segment(int rank, std::uint32_t id, std::shared_ptr<Segment> segment) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].segments[id] = std::move(segment);
}

void Board::take_back(int rank, std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].segments.erase(id);
}

void Board::take_back_all(int rank) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].segments.clear();
}

std::shared_ptr<Segment> Board::segment(int rank, std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const auto& segments = ranks_[static_cast<std::size_t>(rank)].segments;
  const auto found = segments.find(id);
  return found == segments.end() ? nullptr : found->second;
}

Memory::Memory(std::shared_ptr<Board> board, int rank, int ranks) : board_(std::move(board)), rank_(rank) {
  for (int r = 0; r < ranks; ++r) controls_.push_back(board_->control(r));
}

Memory::~Memory() { board_->take_back_all(rank_); }

std::byte* Memory::own_control() { return controls_[static_cast<std::size_t>(rank_)]->data(); }

const std::byte* Memory::control(int peer) { return controls_[static_cast<std::size_t>(peer)]->data(); }

Status Memory::announce(int, std::uint32_t segment_id, const std::shared_ptr<Segment>& segment) {
  board_->put_segment(rank_, segment_id, segment);
  return {};
}

void Memory::withdraw(std::uint32_t segment_id) { board_->take_back(rank_, segment_id); }

Result<std::shared_ptr<Segment>> Memory::map(int peer, std::uint32_t segment_id) {
  if (auto segment = board_->segment(peer, segment_id); segment != nullptr) return segment;
  return Status::peer_lost(
      concat("rank ", peer, " took back the memory that it had offered to rank ", rank_));
}

Status Memory::check_alive(int&) { return {}; }

}  // namespace ringcomm::inline v0::transport::inproc
