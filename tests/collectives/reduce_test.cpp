// SPDX-License-Identifier: Apache-2.0
// all_reduce and reduce_scatter beyond the suite in tests/conformance. Oracle: the same elements reduced in
// rank order by the kernel in one thread, bit for bit, for every algorithm, place and medium.
#include "collectives/reduce.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "collectives/reduce_kernels.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm {
namespace {

using namespace test;
using plan::ReduceForm;

/// Elements of `rank`, of any type: random bytes, with exponents that overflow nothing.
std::vector<std::byte> elements_of(int rank, DType dtype, std::int64_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(rank) + 77);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * bytes_of(dtype));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = std::normal_distribution<float>()(random);
    std::byte* const at = bytes.data() + static_cast<std::size_t>(i) * bytes_of(dtype);
    const auto store = [&](auto stored) { std::memcpy(at, &stored, sizeof stored); };
    if (dtype == DType::float32) store(value);
    if (dtype == DType::float64) store(static_cast<double>(value) / 3.0);
    if (dtype == DType::bfloat16) store(to_bf16(value));
    if (dtype == DType::float16) store(to_fp16(value));
  }
  return bytes;
}

std::vector<std::byte> expected(int ranks, DType dtype, ReduceOp op, std::int64_t count) {
  std::vector<std::vector<std::byte>> all;
  std::vector<const std::byte*> sources;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(elements_of(rank, dtype, count));
  for (const auto& one : all) sources.push_back(one.data());
  std::vector<std::byte> result(all[0].size());
  collectives::reduce_elements(dtype, op, result.data(), sources, count);
  return result;
}

enum class Place { window, private_memory, strided };

/// Memory for `count` elements, where `place` says.
struct Memory {
  Window window;
  std::vector<std::byte> bytes;
  TensorView view;
};

Result<Memory> memory_for(Communicator& comm, DType dtype, std::int64_t count, Place place) {
  Memory memory;
  const std::size_t size = 2 * static_cast<std::size_t>(count) * bytes_of(dtype);
  std::byte* data = nullptr;
  if (place == Place::window) {
    RINGCOMM_TRY_ASSIGN(memory.window, comm.allocate(size));
    data = memory.window.span<std::byte>().data();
  } else {
    memory.bytes.resize(size);
    data = memory.bytes.data();
  }
  memory.view = TensorView::contiguous(data, dtype, {count});
  if (place == Place::strided) memory.view.strides[0] = 2;
  return memory;
}

void fill(const TensorView& view, const std::vector<std::byte>& elements) {
  const std::size_t size = bytes_of(view.dtype);
  for (std::int64_t i = 0; i < view.element_count(); ++i) {
    std::memcpy(static_cast<std::byte*>(view.data) + static_cast<std::size_t>(i * view.strides[0]) * size,
                elements.data() + static_cast<std::size_t>(i) * size, size);
  }
}

Status reduce_once(Communicator& comm, DType dtype, ReduceOp op, std::int64_t count, Place place,
                   bool in_place, ReduceForm form) {
  RINGCOMM_TRY_ASSIGN(const Memory input, memory_for(comm, dtype, count, place));
  RINGCOMM_TRY_ASSIGN(const Memory other,
                      memory_for(comm, dtype, count, place == Place::window ? place : Place::private_memory));
  const TensorView output = in_place ? input.view : other.view;
  const std::vector<std::byte> wanted = expected(comm.size(), dtype, op, count);
  for (int repeat = 0; repeat < 2; ++repeat) {
    fill(input.view, elements_of(comm.rank(), dtype, count));
    random_delay(static_cast<std::uint32_t>(comm.rank() + repeat * 10));
    RINGCOMM_TRY(collectives::all_reduce_by(comm.channel(), input.view, output, op, form, {}).status());
    if (count == 0) continue;
    RINGCOMM_TRY(expect(
        std::memcmp(output.data, wanted.data(), wanted.size()) == 0,
        concat("bits of ", name_of(op), " of ", count, " ", name_of(dtype), " place ",
               static_cast<int>(place), in_place ? " in place" : "", " form ", static_cast<int>(form))));
  }
  return {};
}

class ReduceTest : public testing::TestWithParam<MediumAndRanks> {
 protected:
  void run(const std::function<Status(Communicator&)>& body) {
    const Status status = run_on(GetParam(), body);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
};

TEST_P(ReduceTest, EveryAlgorithmPlaceAndMediumGivesTheBitsOfRankOrder) {
  run([](Communicator& comm) -> Status {
    for (const ReduceForm form : {ReduceForm::one_shot, ReduceForm::two_shot}) {
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
        for (const std::int64_t count : {0, 1, 97, 1000}) {
          for (const Place place : {Place::window, Place::private_memory, Place::strided}) {
            const ReduceOp op = count == 97 ? ReduceOp::max : ReduceOp::sum;
            RINGCOMM_TRY(reduce_once(comm, dtype, op, count, place, false, form));
            // sum shows an input that was overwritten too early; max would not
            if (place != Place::strided)
              RINGCOMM_TRY(reduce_once(comm, dtype, ReduceOp::sum, count, place, true, form));
          }
        }
      }
    }
    return {};
  });
}

TEST_P(ReduceTest, ScatterGivesEachItsPart) {
  run([](Communicator& comm) -> Status {
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < comm.size(); ++rank) counts.push_back(rank % 3 == 1 ? 0 : 3 + 5 * rank);
    const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const auto own = static_cast<std::size_t>(comm.rank());
    const auto first = static_cast<std::size_t>(
        std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::int64_t{0}));
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      const auto wanted = expected(comm.size(), dtype, ReduceOp::sum, total);
      const std::size_t size = bytes_of(dtype);
      for (const Place place : {Place::window, Place::private_memory, Place::strided}) {
        for (const bool in_place : {false, true}) {
          if (in_place && place == Place::strided) continue;
          RINGCOMM_TRY_ASSIGN(const Memory input, memory_for(comm, dtype, total, place));
          std::vector<std::byte> private_output(static_cast<std::size_t>(counts[own]) * size + 1);
          std::byte* const data =
              in_place ? static_cast<std::byte*>(input.view.data) + first * size : private_output.data();
          fill(input.view, elements_of(comm.rank(), dtype, total));
          RINGCOMM_TRY(reduce_scatter(comm.channel(), input.view,
                                      TensorView::contiguous(data, dtype, {counts[own]}), ReduceOp::sum,
                                      counts)
                           .status());
          RINGCOMM_TRY(expect(std::memcmp(data, wanted.data() + first * size,
                                          static_cast<std::size_t>(counts[own]) * size) == 0,
                              concat("bits of part ", own)));
        }
      }
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(Media, ReduceTest, testing::ValuesIn(thread_media()), name_of_case);

TEST(ReduceArgumentsTest, WrongOnesAreRefusedByNameAndBreakNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        std::vector<float> in(8), out(8);
        const TensorView input = TensorView::contiguous(in.data(), DType::float32, {8});
        const TensorView output = TensorView::contiguous(out.data(), DType::float32, {8});
        const auto refused = [&](const Result<Work>& got, std::string_view part) {
          const StatusCode code = got.status().code();
          return expect((code == StatusCode::invalid_argument || code == StatusCode::not_available) &&
                            got.status().message().find(part) != std::string::npos,
                        concat("\"", part, "\", got ", got.status().to_string()));
        };
        Channel& channel = comm.channel();
        const auto view = [](void* data, DType dtype, std::int64_t count) {
          return TensorView::contiguous(data, dtype, {count});
        };
        RINGCOMM_TRY(refused(all_reduce(channel, input, view(out.data(), DType::int32, 8), ReduceOp::sum),
                             "output is int32, input is float32"));
        RINGCOMM_TRY(refused(all_reduce(channel, input, view(out.data(), DType::float32, 7), ReduceOp::sum),
                             "output has 7 elements, 8 are needed"));
        RINGCOMM_TRY(
            refused(all_reduce(channel, input, view(in.data() + 1, DType::float32, 7), ReduceOp::sum),
                    "output has 7 elements"));
        RINGCOMM_TRY(refused(all_reduce(channel, view(in.data(), DType::float32, 4),
                                        view(in.data() + 1, DType::float32, 4), ReduceOp::sum),
                             "input overlaps output"));
        RINGCOMM_TRY(refused(all_reduce(channel, input, output, ReduceOp::none), "sum, max and min"));
        RINGCOMM_TRY(refused(all_reduce(channel, view(in.data(), DType::float8_e5m2, 8),
                                        view(out.data(), DType::float8_e5m2, 8), ReduceOp::sum),
                             "no reduction of float8_e5m2"));
        TensorView strided = view(in.data(), DType::float32, 4);
        strided.strides[0] = 2;
        RINGCOMM_TRY(refused(all_reduce(channel, view(out.data(), DType::float32, 4), strided, ReduceOp::sum),
                             "output is not contiguous"));
        RINGCOMM_TRY(refused(all_reduce(channel, strided, view(in.data(), DType::float32, 4), ReduceOp::sum),
                             "input overlaps output"));
        RINGCOMM_TRY(
            refused(reduce_scatter(channel, input, view(out.data(), DType::float32, 3), ReduceOp::sum),
                    "input has 8 elements, 6 are needed"));
        const std::vector<std::int64_t> counts{5, 3};
        RINGCOMM_TRY(refused(
            reduce_scatter(channel, input, view(out.data(), DType::float32, 1), ReduceOp::sum, counts),
            "output has 1 elements"));
        const std::vector<std::int64_t> negative{9, -1};
        RINGCOMM_TRY(refused(
            reduce_scatter(channel, input, view(out.data(), DType::float32, 9), ReduceOp::sum, negative),
            "counts of rank 1 is -1 (negative)"));
        const std::vector<std::int64_t> three{4, 4, 0};
        RINGCOMM_TRY(
            refused(reduce_scatter(channel, input, view(out.data(), DType::float32, 4), ReduceOp::sum, three),
                    "3 counts for 2 ranks"));
        RINGCOMM_TRY(
            refused(reduce_scatter(channel, input, view(in.data() + 1, DType::float32, 4), ReduceOp::sum),
                    "input overlaps output"));
        RINGCOMM_TRY(comm.health());
        return all_reduce(channel, input, output, ReduceOp::sum).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
