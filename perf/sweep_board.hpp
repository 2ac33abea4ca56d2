// SPDX-License-Identifier: Apache-2.0
// Memory that the ranks' processes share with the one that started them: the results of a sweep.
#pragma once

#include <memory>
#include <vector>

#include "sweep.hpp"

namespace ringcomm::perf {

class SweepBoard {
 public:
  static Result<SweepBoard> create();
  /// By rank 0 of one group at a time. More than kPointsMax are dropped.
  void add(const SweepPoint& point);
  void add_wrong(std::int64_t elements);
  std::vector<SweepPoint> points() const;
  std::int64_t wrong() const;

 private:
  static constexpr std::size_t kPointsMax = 4096;
  struct Shared {
    std::size_t count;
    std::int64_t wrong;
    SweepPoint points[kPointsMax];
  };
  explicit SweepBoard(Shared* shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace ringcomm::perf
