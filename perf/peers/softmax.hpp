// SPDX-License-Identifier: Apache-2.0
// Softmax statistics (out, lse), fp32, of R rows of 128: what the three MPI forms share.
#pragma once

#include <algorithm>
#include <cmath>

#include "peer.hpp"

namespace ringcomm::perf::peers {

constexpr std::size_t kDim = 128;
constexpr std::size_t kRowFloats = kDim + 1;  ///< packed: the payload, then lse

class Softmax : public Peer {
 public:
  std::size_t prepare(std::size_t bytes) override {
    rows_ = bytes / (kRowFloats * sizeof(float));
    out_.assign(rows_ * kDim, 0.0F);
    lse_.assign(rows_, 0.0F);
    result_out_.assign(rows_ * kDim, 0.0F);
    result_lse_.assign(rows_, 0.0F);
    allocate();
    return rows_ * kRowFloats * sizeof(float);
  }
  void write() override {
    for (std::size_t row = 0; row < rows_; ++row) {
      lse_[row] = lse_of(rank(), row);
      for (std::size_t d = 0; d < kDim; ++d) out_[row * kDim + d] = payload(rank(), row * kDim + d);
    }
  }
  /// Against the merge in double; a payload error of 4e-6 of the weights' sum is rounding.
  std::int64_t count_wrong() override {
    std::int64_t wrong = 0;
    std::vector<double> weights(static_cast<std::size_t>(size()));
    for (std::size_t row = 0; row < rows_; ++row) {
      double largest = -INFINITY;
      for (int r = 0; r < size(); ++r) largest = std::max(largest, static_cast<double>(lse_of(r, row)));
      double sum = 0;
      for (int r = 0; r < size(); ++r) {
        weights[static_cast<std::size_t>(r)] = std::exp(static_cast<double>(lse_of(r, row)) - largest);
        sum += weights[static_cast<std::size_t>(r)];
      }
      const double lse = largest + std::log(sum);
      wrong += std::abs(static_cast<double>(result_lse_[row]) - lse) < 1e-5 ? 0 : 1;
      for (std::size_t d = 0; d < kDim; ++d) {
        double expected = 0;
        for (int r = 0; r < size(); ++r)
          expected +=
              weights[static_cast<std::size_t>(r)] / sum * static_cast<double>(payload(r, row * kDim + d));
        wrong += std::abs(static_cast<double>(result_out_[row * kDim + d]) - expected) <= 4e-6 ? 0 : 1;
      }
    }
    return wrong;
  }

 protected:
  virtual void allocate() = 0;

  std::size_t rows_ = 0;
  std::vector<float> out_, lse_, result_out_, result_lse_;

 private:
  /// Multiples of 1/128 in [-1, 1), as ringcomm-perf's inputs (without its empty rows, which would cost MPI a
  /// branch that ringcomm's merge has).
  static float value(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U + index * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
    return static_cast<float>(static_cast<int>(x >> 56) - 128) / 128.0F;
  }
  static float lse_of(int owner, std::size_t row) {
    return 8 * value(static_cast<std::uint64_t>(owner) + 100, row);
  }
  static float payload(int owner, std::size_t index) {
    return value(static_cast<std::uint64_t>(owner), index);
  }
};

/// into = merge of into and from, both packed rows.
inline void merge_rows(float* into, const float* from, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row, into += kRowFloats, from += kRowFloats) {
    const float largest = std::max(into[kDim], from[kDim]);
    const float mine = std::exp(into[kDim] - largest);
    const float theirs = std::exp(from[kDim] - largest);
    const float sum = mine + theirs;
    const float a = mine / sum, b = theirs / sum;
    for (std::size_t d = 0; d < kDim; ++d) into[d] = a * into[d] + b * from[d];
    into[kDim] = largest + std::log(sum);
  }
}

}  // namespace ringcomm::perf::peers
