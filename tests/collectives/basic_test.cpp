// SPDX-License-Identifier: Apache-2.0
// Oracle: the concatenation computed directly, and for the barrier a count of who is inside. Each claim runs
// on every medium that threads can use.
#include "ringcomm/collectives/basic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;

class BasicTest : public testing::TestWithParam<MediumAndRanks> {
 protected:
  int ranks() const { return GetParam().ranks; }
  void run(const std::function<Status(Communicator&)>& body) {
    const Status status = run_on(GetParam(), body);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
};

TEST_P(BasicTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::array<std::atomic<int>, 20> arrived{};
  run([&](Communicator& comm) -> Status {
    for (std::size_t round = 0; round < arrived.size(); ++round) {
      random_delay(static_cast<std::uint32_t>(round * 100) + static_cast<std::uint32_t>(comm.rank()));
      arrived[round].fetch_add(1);
      RINGCOMM_TRY(barrier(comm.channel()).status());
      RINGCOMM_TRY(expect(arrived[round].load() == comm.size(), concat("left round ", round, " early")));
    }
    return {};
  });
}

std::vector<std::int64_t> uneven_counts(int ranks) {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(rank % 3 == 2 ? 0 : 5 + 3 * rank);
  return counts;
}

enum class Place { window, private_memory, strided, in_place };

Status gather_once(Communicator& comm, const std::vector<std::int64_t>& counts, Place place,
                   StreamView stream) {
  const auto own = static_cast<std::size_t>(comm.rank());
  const std::int64_t count = counts[own];
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::int64_t{0});
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<float> output(static_cast<std::size_t>(total), -1.0F);
  std::vector<float> memory(static_cast<std::size_t>(2 * count));
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(static_cast<std::size_t>(count) * sizeof(float)));
  float* const data = place == Place::window     ? window.span<float>().data()
                      : place == Place::in_place ? output.data() + first
                                                 : memory.data();
  TensorView input = TensorView::contiguous(data, DType::float32, {count});
  if (place == Place::strided) input.strides[0] = 2;
  for (std::int64_t i = 0; i < count; ++i) data[i * input.strides[0]] = value_of(comm.rank(), i);
  CallOptions options;
  options.stream = stream;
  RINGCOMM_TRY_ASSIGN(
      const Work work,
      all_gather(comm.channel(), input, TensorView::contiguous(output.data(), DType::float32, {total}),
                 counts, options));
  RINGCOMM_TRY(work.wait(Deadline::after(std::chrono::seconds(30))));
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    for (std::int64_t i = 0; i < counts[rank]; ++i, ++at) {
      if (output[at] != value_of(static_cast<int>(rank), i))
        return expect(false, concat("element ", at, " is ", static_cast<double>(output[at])));
    }
  }
  return {};
}

TEST_P(BasicTest, AllGatherConcatenatesUnevenAndEmptyBlocks) {
  const std::vector<std::int64_t> counts = uneven_counts(ranks());
  run([&](Communicator& comm) -> Status {
    std::uint32_t seed = static_cast<std::uint32_t>(comm.rank());
    for (const Place place : {Place::window, Place::private_memory, Place::strided, Place::in_place}) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        random_delay(++seed);
        RINGCOMM_TRY(gather_once(comm, counts, place, {}));
      }
    }
    return {};
  });
}

TEST_P(BasicTest, StreamOrderedAllGatherGivesTheSame) {
  const std::vector<std::int64_t> counts = uneven_counts(ranks());
  run([&](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
    for (const Place place : {Place::window, Place::strided, Place::in_place}) {
      RINGCOMM_TRY(gather_once(comm, counts, place, stream.view()));
      RINGCOMM_TRY(gather_once(comm, counts, place, {}));  // a blocking call after a stream-ordered one
    }
    return stream.synchronize(Deadline::after(std::chrono::seconds(30)));
  });
}

TEST_P(BasicTest, WorkTellsWhenItsStreamHasComeToIt) {
  std::array<std::atomic<bool>, 8> gates{};
  run([&](Communicator& comm) -> Status {
    std::atomic<bool>& is_open = gates[static_cast<std::size_t>(comm.rank())];
    RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
    RINGCOMM_TRY(stream.enqueue([&is_open] {
      while (!is_open.load()) std::this_thread::yield();
      return Status();
    }));
    CallOptions options;
    options.stream = stream.view();
    RINGCOMM_TRY_ASSIGN(const Work work, barrier(comm.channel(), options));
    RINGCOMM_TRY(expect(!work.test(), "finished behind a closed gate"));
    RINGCOMM_TRY(expect(work.status().code() == StatusCode::not_available, "a status while it runs"));
    RINGCOMM_TRY(
        expect(work.wait(Deadline::after(std::chrono::milliseconds(5))).code() == StatusCode::timeout,
               "wait did not give up at its deadline"));
    is_open = true;
    RINGCOMM_TRY(work.wait(Deadline::after(std::chrono::seconds(30))));
    RINGCOMM_TRY(expect(work.test() && work.status().is_ok(), "not ok after wait"));
    return stream.synchronize(Deadline::after(std::chrono::seconds(30)));
  });
}

TEST_P(BasicTest, ManyQueuedOperationsRunInOrder) {
  run([&](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
    std::vector<float> value(1);
    std::vector<float> all(static_cast<std::size_t>(comm.size()));
    CallOptions options;
    options.stream = stream.view();
    Work last;
    for (int round = 0; round < 20; ++round) {
      RINGCOMM_TRY(stream.enqueue([&value, &comm, round] {
        value[0] = value_of(comm.rank(), round);
        return Status();
      }));
      RINGCOMM_TRY_ASSIGN(
          last, all_gather(comm.channel(), TensorView::contiguous(value.data(), DType::float32, {1}),
                           TensorView::contiguous(all.data(), DType::float32, {comm.size()}), {}, options));
    }
    RINGCOMM_TRY(last.wait(Deadline::after(std::chrono::seconds(30))));
    for (int rank = 0; rank < comm.size(); ++rank)
      RINGCOMM_TRY(expect(all[static_cast<std::size_t>(rank)] == value_of(rank, 19), concat("rank ", rank)));
    return stream.synchronize(Deadline::after(std::chrono::seconds(30)));
  });
}

INSTANTIATE_TEST_SUITE_P(Media, BasicTest, testing::ValuesIn(thread_media()), name_of_case);

// Arguments: refused at the call, and the communicator works on.
TEST(AllGatherArgumentsTest, WrongOnesAreRefusedByNameAndBreakNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        std::vector<float> in(4), out(8);
        const TensorView input = TensorView::contiguous(in.data(), DType::float32, {4});
        const TensorView output = TensorView::contiguous(out.data(), DType::float32, {8});
        const auto refused = [&](const TensorView& i, const TensorView& o, std::vector<std::int64_t> counts,
                                 std::string_view part) {
          const Status got = all_gather(comm.channel(), i, o, counts).status();
          return expect(
              got.code() == StatusCode::invalid_argument && got.message().find(part) != std::string::npos,
              concat("\"", part, "\", got ", got.to_string()));
        };
        RINGCOMM_TRY(refused(input, output, {4, 4, 4}, "3 counts for 2 ranks"));
        RINGCOMM_TRY(refused(input, output, {-1, 4}, "count of rank 0 is -1"));
        RINGCOMM_TRY(refused(input, output, {3, 3}, "has 4 elements, its count is 3"));
        TensorView other = output;
        other.dtype = DType::int32;
        RINGCOMM_TRY(refused(input, other, {4, 4}, "output is int32, input is float32"));
        other = output;
        other.shape[0] = 7;
        RINGCOMM_TRY(refused(input, other, {4, 4}, "output has 7 elements, the counts sum to 8"));
        other = output;
        other.strides[0] = 2;
        RINGCOMM_TRY(refused(input, other, {4, 4}, "not contiguous"));
        other = input;
        other.data = out.data() + 1;
        RINGCOMM_TRY(refused(other, output, {4, 4}, "overlaps output"));
        other.data = nullptr;
        RINGCOMM_TRY(refused(other, output, {4, 4}, "null pointer"));
        RINGCOMM_TRY(comm.health());
        return all_gather(comm.channel(), input, output).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
