// SPDX-License-Identifier: Apache-2.0
// softmax_all_reduce as three MPI_Allreduce: the largest lse, the weights, the weighted payloads.
#pragma once

#include "softmax.hpp"

namespace ringcomm::perf::peers {

class ThreeReductions : public Softmax {
 public:
  void run() override {
    const int rows = static_cast<int>(rows_);
    MPI_Allreduce(lse_.data(), largest_.data(), rows, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    for (std::size_t row = 0; row < rows_; ++row) {
      weight_[row] = std::exp(lse_[row] - largest_[row]);
      const float weight = weight_[row];
      for (std::size_t d = 0; d < kDim; ++d) scaled_[row * kDim + d] = weight * out_[row * kDim + d];
    }
    MPI_Allreduce(weight_.data(), sum_.data(), rows, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(scaled_.data(), result_out_.data(), rows * static_cast<int>(kDim), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    for (std::size_t row = 0; row < rows_; ++row) {
      const float inverse = 1.0F / sum_[row];
      for (std::size_t d = 0; d < kDim; ++d) result_out_[row * kDim + d] *= inverse;
      result_lse_[row] = largest_[row] + std::log(sum_[row]);
    }
  }

 protected:
  void allocate() override {
    largest_.assign(rows_, 0.0F);
    weight_.assign(rows_, 0.0F);
    sum_.assign(rows_, 0.0F);
    scaled_.assign(rows_ * kDim, 0.0F);
  }

 private:
  std::vector<float> largest_, weight_, sum_, scaled_;
};

}  // namespace ringcomm::perf::peers
