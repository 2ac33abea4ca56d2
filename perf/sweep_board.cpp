// SPDX-License-Identifier: Apache-2.0
#include "sweep_board.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "ringcomm/core/text.hpp"

namespace ringcomm::perf {

SweepBoard::SweepBoard(Shared* shared)
    : shared_(shared, [](Shared* memory) { munmap(memory, sizeof(Shared)); }) {}

Result<SweepBoard> SweepBoard::create() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::out_of_memory(concat("sweep board of ", sizeof(Shared), " bytes: ", std::strerror(errno)));
  return SweepBoard(static_cast<Shared*>(memory));
}

void SweepBoard::add(const SweepPoint& point) {
  if (shared_->count < kPointsMax) shared_->points[shared_->count++] = point;
}

void SweepBoard::add_wrong(std::int64_t elements) { shared_->wrong += elements; }

std::vector<SweepPoint> SweepBoard::points() const {
  return {shared_->points, shared_->points + shared_->count};
}

std::int64_t SweepBoard::wrong() const { return shared_->wrong; }

}  // namespace ringcomm::perf
