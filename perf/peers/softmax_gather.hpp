// SPDX-License-Identifier: Apache-2.0
// softmax_all_reduce as two MPI_Allgather and a merge of all ranks' rows on every rank.
#pragma once

#include "softmax.hpp"

namespace ringcomm::perf::peers {

class GatherAndMerge : public Softmax {
 public:
  void run() override {
    const int rows = static_cast<int>(rows_);
    const int floats = rows * static_cast<int>(kDim);
    MPI_Allgather(lse_.data(), rows, MPI_FLOAT, all_lse_.data(), rows, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Allgather(out_.data(), floats, MPI_FLOAT, all_out_.data(), floats, MPI_FLOAT, MPI_COMM_WORLD);
    for (std::size_t row = 0; row < rows_; ++row) merge(row);
  }

 protected:
  void allocate() override {
    ranks_ = static_cast<std::size_t>(size());
    all_lse_.assign(ranks_ * rows_, 0.0F);
    all_out_.assign(ranks_ * rows_ * kDim, 0.0F);
    weights_.assign(ranks_, 0.0F);
  }

 private:
  void merge(std::size_t row) {
    float largest = -INFINITY;
    for (std::size_t r = 0; r < ranks_; ++r) largest = std::max(largest, all_lse_[r * rows_ + row]);
    float sum = 0;
    for (std::size_t r = 0; r < ranks_; ++r)
      sum += weights_[r] = std::exp(all_lse_[r * rows_ + row] - largest);
    float* const target = &result_out_[row * kDim];
    std::fill_n(target, kDim, 0.0F);
    for (std::size_t r = 0; r < ranks_; ++r) {
      const float weight = weights_[r] / sum;
      const float* const source = &all_out_[(r * rows_ + row) * kDim];
      for (std::size_t d = 0; d < kDim; ++d) target[d] += weight * source[d];
    }
    result_lse_[row] = largest + std::log(sum);
  }

  std::size_t ranks_ = 1;
  std::vector<float> all_lse_, all_out_, weights_;
};

}  // namespace ringcomm::perf::peers
