// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/collectives/reduce.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/text.hpp"
#include "selftest.hpp"

namespace ringcomm::doctor {
namespace {

/// A value that tells its rank and place apart; exact in float32.
float value_of(int rank, std::int64_t at) { return static_cast<float>((rank + 1) * 4096 + at % 4096); }

Status expect(float got, float wanted, const char* what, std::int64_t at) {
  if (got == wanted) return {};
  return Status::internal(concat(what, ": element ", at, " is ", static_cast<double>(got), " instead of ",
                                 static_cast<double>(wanted)));
}

Status check_barrier(Communicator& comm) {
  for (int round = 0; round < 100; ++round) RINGCOMM_TRY(barrier(comm.channel()).status());
  return {};
}

/// Blocks of different size, one of them empty.
Status check_all_gather(Communicator& comm) {
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (int rank = 0; rank < comm.size(); ++rank) total += counts.emplace_back(rank == 1 ? 0 : 1001 + rank);
  const auto own = counts[static_cast<std::size_t>(comm.rank())];
  std::vector<float> input(static_cast<std::size_t>(own) + 1);
  std::vector<float> output(static_cast<std::size_t>(total));
  for (std::int64_t at = 0; at < own; ++at) input[static_cast<std::size_t>(at)] = value_of(comm.rank(), at);
  RINGCOMM_TRY(all_gather(comm.channel(), TensorView::contiguous(input.data(), DType::float32, {own}),
                          TensorView::contiguous(output.data(), DType::float32, {total}), counts)
                   .status());
  std::size_t place = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (std::int64_t at = 0; at < counts[static_cast<std::size_t>(rank)]; ++at)
      RINGCOMM_TRY(expect(output[place++], value_of(rank, at), "all-gather", at));
  }
  return {};
}

Status check_all_reduce(Communicator& comm) {
  constexpr std::int64_t kCount = 10007;
  std::vector<float> input(kCount);
  std::vector<float> output(kCount);
  for (std::int64_t at = 0; at < kCount; ++at)
    input[static_cast<std::size_t>(at)] = value_of(comm.rank(), at);
  RINGCOMM_TRY(all_reduce(comm.channel(), TensorView::contiguous(input.data(), DType::float32, {kCount}),
                          TensorView::contiguous(output.data(), DType::float32, {kCount}), ReduceOp::sum)
                   .status());
  for (std::int64_t at = 0; at < kCount; ++at) {
    float wanted = 0;
    for (int rank = 0; rank < comm.size(); ++rank) wanted += value_of(rank, at);
    RINGCOMM_TRY(expect(output[static_cast<std::size_t>(at)], wanted, "all-reduce", at));
  }
  return {};
}

Status rotate(Communicator& comm, RotationChoice mode) {
  constexpr std::int64_t kRows = 257;
  constexpr std::int64_t kElements = kRows * 64;
  RINGCOMM_TRY_ASSIGN(Window window, comm.allocate(2 * kElements * sizeof(float)));
  float* const data = window.span<float>().data();
  for (std::int64_t at = 0; at < 2 * kElements; ++at) data[at] = value_of(comm.rank(), at);
  RINGCOMM_TRY_ASSIGN(
      auto rotation,
      RingRotation::create(comm.channel(), TensorView::contiguous(data, DType::float32, {kRows, 1, 64}),
                           TensorView::contiguous(data + kElements, DType::float32, {kRows, 1, 64}),
                           {.mode = mode}));
  Status wrong;
  int seen = 0;
  RINGCOMM_TRY(rotation.run([&](const RotationStep& step) {
    ++seen;
    const RotationPart& part = step.parts().front();
    for (std::int64_t at = 0; at < kElements && wrong.is_ok(); ++at) {
      wrong = expect(static_cast<const float*>(part.k.data)[at], value_of(part.source, at), "rotated K", at);
      if (wrong.is_ok())
        wrong = expect(static_cast<const float*>(part.v.data)[at], value_of(part.source, kElements + at),
                       "rotated V", at);
    }
  }));
  if (wrong.is_ok() && seen != comm.size())
    wrong = Status::internal(concat("rotation showed ", seen, " blocks instead of ", comm.size()));
  return wrong;
}

Status check_rotation(Communicator& comm) {
  RINGCOMM_TRY(rotate(comm, RotationChoice::automatic));
  return rotate(comm, RotationChoice::relay);
}

/// Rows whose statistics differ by rank; one row that no rank has seen, one that a single rank has.
Status check_softmax(Communicator& comm) {
  constexpr std::int64_t kRows = 129;
  constexpr std::int64_t kDim = 64;
  const auto lse_of = [](int rank, std::int64_t row) {
    if (row == 0 || (row == 1 && rank != 0)) return -std::numeric_limits<double>::infinity();
    return static_cast<double>(static_cast<float>(0.25 * rank - 0.01 * static_cast<double>(row)));
  };
  std::vector<float> out(kRows * kDim);
  std::vector<float> lse(kRows);
  for (std::int64_t row = 0; row < kRows; ++row) {
    lse[static_cast<std::size_t>(row)] = static_cast<float>(lse_of(comm.rank(), row));
    for (std::int64_t d = 0; d < kDim; ++d)
      out[static_cast<std::size_t>(row * kDim + d)] = static_cast<float>(comm.rank() + 1);
  }
  SoftmaxPartial partial;
  partial.out = TensorView::contiguous(out.data(), DType::float32, {kRows, kDim});
  partial.statistic = TensorView::contiguous(lse.data(), DType::float32, {kRows});
  RINGCOMM_TRY(softmax_all_reduce(comm.channel(), partial, partial).status());
  for (std::int64_t row = 0; row < kRows; ++row) {
    double weights = 0;
    double sum = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
      weights += std::exp(lse_of(rank, row));
      sum += std::exp(lse_of(rank, row)) * (rank + 1);
    }
    const double wanted = weights > 0 ? sum / weights : 0;
    const double got = out[static_cast<std::size_t>(row * kDim)];
    if (std::fabs(got - wanted) > 1e-5 * (1 + wanted))
      return Status::internal(concat("softmax merge: row ", row, " is ", got, " instead of ", wanted));
  }
  return {};
}

Status check_attention_4k(Communicator& comm) {
  RINGCOMM_TRY(check_attention(comm, 4096, DType::float32));
  RINGCOMM_TRY(check_attention(comm, 4097, DType::bfloat16));
  return check_attention(comm, comm.size() - 1, DType::float32);  // a rank without a token
}

}  // namespace

const std::vector<SelfCheck>& self_checks() {
  static const std::vector<SelfCheck> kChecks{
      {"barrier", "100 barriers", check_barrier},
      {"all_gather", "blocks of different size, one empty", check_all_gather},
      {"all_reduce", "exact sums", check_all_reduce},
      {"rotation", "every KV block seen once, direct where possible, and relayed", check_rotation},
      {"softmax_all_reduce", "(out, lse) merged, empty rows among them", check_softmax},
      {"attention", "4,096 and 4,097 tokens, fp32 and bf16, every row against float64", check_attention_4k}};
  return kChecks;
}

}  // namespace ringcomm::doctor
