// SPDX-License-Identifier: Apache-2.0
// all_reduce and reduce_scatter: small integers are exact in every type; random values are held against
// float64, and all ranks' bits against each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "conformance/suite_case.hpp"
#include "ringcomm/collectives/reduce.hpp"

namespace ringcomm::conformance {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min};
constexpr std::string_view kPlaceNames[] = {" window", " shifted", " strided"};

bool is_unsigned(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint32 || dtype == DType::uint64;
}

/// Eight of them sum to at most 40 in magnitude: exact in int8 as in bfloat16.
int small_integer(DType dtype, int rank, std::int64_t index) {
  const auto value = static_cast<int>((index * 13 + rank * 7) % 11);
  return is_unsigned(dtype) ? value % 6 : value - 5;
}

int expected(ReduceOp op, DType dtype, int ranks, std::int64_t index) {
  int result = small_integer(dtype, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const int next = small_integer(dtype, rank, index);
    result = op == ReduceOp::sum   ? result + next
             : op == ReduceOp::max ? std::max(result, next)
                                   : std::min(result, next);
  }
  return result;
}

struct Form {
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Place place = Place::window;
  bool in_place = false;
  bool in_stream = false;
  std::string text() const {
    return concat(" ", name_of(op), " ", name_of(dtype), kPlaceNames[static_cast<int>(place)],
                  in_place ? " in place" : "", in_stream ? " in stream" : "");
  }
};

Status reduce_small(Suite& suite, const Form& form, std::int64_t count) {
  const TensorView input = suite.tensor(0, form.dtype, count, form.place);
  const TensorView output =
      form.in_place
          ? input
          : suite.tensor(1, form.dtype, count, form.place == Place::window ? form.place : Place::shifted);
  for (std::int64_t i = 0; i < count; ++i) set_number(input, i, small_integer(form.dtype, suite.rank(), i));
  RINGCOMM_TRY(
      Suite::finish(all_reduce(suite.channel(), input, output, form.op, suite.options(form.in_stream))));
  for (std::int64_t i = 0; i < count; ++i) {
    const int wanted = expected(form.op, form.dtype, suite.ranks(), i);
    if (number_at(output, i) != wanted)
      return expect(false, concat("element ", i, " is ", number_at(output, i), ", not ", wanted));
  }
  return expect(suite.are_guards_whole(form.in_place ? 0 : 1, output),
                "bytes outside of the output were written");
}

Status scatter_small(Suite& suite, const Form& form, const std::vector<std::int64_t>& counts,
                     bool gives_counts) {
  const auto own = static_cast<std::size_t>(suite.rank());
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + suite.rank(), std::int64_t{0});
  const TensorView input = suite.tensor(0, form.dtype, total, form.place);
  TensorView output = suite.tensor(1, form.dtype, counts[own], Place::shifted);
  if (form.in_place) {
    output = input;
    output.shape[0] = counts[own];
    output.data =
        static_cast<std::byte*>(input.data) + static_cast<std::size_t>(first) * bytes_of(form.dtype);
  }
  for (std::int64_t i = 0; i < total; ++i) set_number(input, i, small_integer(form.dtype, suite.rank(), i));
  RINGCOMM_TRY(Suite::finish(reduce_scatter(suite.channel(), input, output, form.op,
                                            gives_counts ? counts : std::vector<std::int64_t>{},
                                            suite.options(form.in_stream))));
  for (std::int64_t i = 0; i < counts[own]; ++i) {
    const int wanted = expected(form.op, form.dtype, suite.ranks(), first + i);
    if (number_at(output, i) != wanted)
      return expect(false, concat("element ", i, " is ", number_at(output, i), ", not ", wanted));
  }
  return form.in_place
             ? Status()
             : expect(suite.are_guards_whole(1, output), "bytes outside of the output were written");
}

/// Normal values from a seed that every rank can repeat.
std::vector<double> normal_values(int rank, std::int64_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(rank) * 7919 + 11);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::normal_distribution<double>()(random));
  return values;
}

double unit_roundoff(DType dtype) {
  return dtype == DType::float64   ? 0x1p-53
         : dtype == DType::float32 ? 0x1p-24
         : dtype == DType::float16 ? 0x1p-11
                                   : 0x1p-8;
}

/// Sums of what was rounded to the type: one rounding of each partial sum in the accumulator, one at the end.
Status reduce_random(Suite& suite, DType dtype, std::int64_t count) {
  const TensorView scratch = suite.tensor(2, dtype, count, Place::shifted);
  std::vector<double> sums(static_cast<std::size_t>(count), 0.0);
  std::vector<double> magnitudes(static_cast<std::size_t>(count), 0.0);
  for (int rank = 0; rank < suite.ranks(); ++rank) {
    const auto values = normal_values(rank, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      set_number(scratch, i, values[at]);
      sums[at] += number_at(scratch, i);
      magnitudes[at] += std::fabs(number_at(scratch, i));
    }
  }
  const TensorView input = suite.tensor(0, dtype, count, Place::window);
  const TensorView output = suite.tensor(1, dtype, count, Place::window);
  const auto values = normal_values(suite.rank(), count);
  for (std::int64_t i = 0; i < count; ++i) set_number(input, i, values[static_cast<std::size_t>(i)]);
  RINGCOMM_TRY(Suite::finish(all_reduce(suite.channel(), input, output, ReduceOp::sum)));
  const double accumulator = dtype == DType::float64 ? 0x1p-53 : 0x1p-24;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double bound = (unit_roundoff(dtype) + suite.ranks() * accumulator) * magnitudes[at] + 1e-7;
    if (!(std::fabs(number_at(output, i) - sums[at]) <= bound))
      return expect(false, concat("element ", i, " is ", number_at(output, i), ", not ", sums[at]));
  }
  // The same bits everywhere: everybody gets everybody's.
  const TensorView all = suite.tensor(3, dtype, count * suite.ranks(), Place::window);
  RINGCOMM_TRY(Suite::finish(all_gather(suite.channel(), output, all)));
  for (int rank = 0; rank < suite.ranks(); ++rank) {
    const auto* const theirs =
        static_cast<const std::byte*>(all.data) + static_cast<std::size_t>(rank) * output.bytes();
    RINGCOMM_TRY(expect(std::memcmp(theirs, output.data, output.bytes()) == 0,
                        concat("rank ", rank, " has other bits")));
  }
  return {};
}

/// NaN of any rank reaches all ranks, in all ops.
Status reduce_nan(Suite& suite, DType dtype, ReduceOp op, int culprit) {
  const TensorView tensor = suite.tensor(0, dtype, 5, Place::window);
  for (std::int64_t i = 0; i < 5; ++i) set_number(tensor, i, suite.rank());
  if (suite.rank() == culprit) set_number(tensor, 3, std::numeric_limits<double>::quiet_NaN());
  RINGCOMM_TRY(Suite::finish(all_reduce(suite.channel(), tensor, tensor, op)));
  for (std::int64_t i = 0; i < 5; ++i) {
    if (std::isnan(number_at(tensor, i)) != (i == 3))
      return expect(false, concat("element ", i, " is ", number_at(tensor, i)));
  }
  return {};
}

/// float32 stands for all types where types make no difference.
bool is_full(const Form& form) { return form.dtype == DType::float32; }

Status all_reduces(Suite& suite, const Form& form) {
  for (const std::int64_t count : {0, 1, 37, 1501}) {
    if (!is_full(form) && (count < 2 || (count > 1000 && form.op != ReduceOp::sum))) continue;
    RINGCOMM_TRY(suite.run(concat("all_reduce", form.text(), " ", count),
                           [&] { return reduce_small(suite, form, count); }));
  }
  return {};
}

Status reduce_scatters(Suite& suite, const Form& form) {
  const auto n = static_cast<std::size_t>(suite.ranks());
  std::vector<std::int64_t> uneven;
  for (int rank = 0; rank < suite.ranks(); ++rank) uneven.push_back(rank % 3 == 1 ? 0 : 2 + 9 * rank);
  for (const auto& counts : {std::vector<std::int64_t>(n, 0), std::vector<std::int64_t>(n, 1),
                             std::vector<std::int64_t>(n, 37), uneven}) {
    const bool is_equal = counts != uneven;
    if (!is_full(form) && is_equal && counts[0] < 2) continue;
    RINGCOMM_TRY(suite.run(concat("reduce_scatter", form.text(), " count of rank 0 ", counts[0]),
                           [&] { return scatter_small(suite, form, counts, !is_equal); }));
  }
  return {};
}

}  // namespace

Status suite_of_reductions(Suite& suite) {
  for (const DType dtype : kNumbers) {
    for (const ReduceOp op : kOps) {
      for (const Place place : kPlaces) {
        for (const bool in_place : {false, true}) {
          if (in_place && place == Place::strided) continue;
          if (dtype != DType::float32 && in_place != (place == Place::shifted)) continue;
          if (dtype != DType::float32 && op != ReduceOp::sum && place == Place::strided) continue;
          const Form form{.dtype = dtype,
                          .op = op,
                          .place = place,
                          .in_place = in_place,
                          .in_stream = dtype == DType::float32 && op == ReduceOp::max};
          RINGCOMM_TRY(all_reduces(suite, form));
          RINGCOMM_TRY(reduce_scatters(suite, form));
        }
      }
    }
  }
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    for (const std::int64_t count : {17, 1501})
      RINGCOMM_TRY(suite.run(concat("all_reduce random ", name_of(dtype), " ", count),
                             [&] { return reduce_random(suite, dtype, count); }));
    for (const ReduceOp op : kOps) {
      for (const int culprit : {0, suite.ranks() - 1})
        RINGCOMM_TRY(
            suite.run(concat("all_reduce NaN ", name_of(op), " ", name_of(dtype), " of rank ", culprit),
                      [&] { return reduce_nan(suite, dtype, op, culprit); }));
    }
  }
  return {};
}

}  // namespace ringcomm::conformance
