// SPDX-License-Identifier: Apache-2.0
// Reductions, broadcast, all-to-all and messages whose ranks give different values: all ranks get the error
// with both values in it, long before the deadline (bounds in time have a large margin).
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/collectives/reduce.hpp"
#include "support/memory_port.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr std::int64_t kBoundNs = 10'000'000'000;  // a sixth of the deadline

class ExchangeDisagreementTest : public testing::TestWithParam<MediumAndRanks> {
 protected:
  using Body = std::function<Result<Work>(Communicator&, bool is_odd)>;
  /// `body` with is_odd on rank 1 alone: everybody gets a mismatch with all of `parts` in it.
  void expect_mismatch(const std::vector<std::string>& parts, const Body& body) {
    const std::int64_t started = now_ns();
    std::vector<Status> results(static_cast<std::size_t>(GetParam().ranks));
    CommunicatorOptions options = with_deadline(std::chrono::seconds(60));
    options.transports = GetParam().transports;
    std::atomic<int> failed{0};
    const Status ran = run_threads(
        GetParam().ranks,
        [&](Communicator& comm) {
          Status status = body(comm, comm.rank() == 1).status();
          if (!status.is_ok()) ++failed;
          // Whoever had no part in it hears of it in its next call; made at once, that call would differ too.
          for (int wait = 0; status.is_ok() && failed == 0 && wait < 5000; ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (status.is_ok()) status = barrier(comm.channel()).status();
          results[static_cast<std::size_t>(comm.rank())] = status;
          return Status();
        },
        options);
    EXPECT_TRUE(ran.is_ok()) << ran.to_string();
    EXPECT_LT(now_ns() - started, kBoundNs);
    for (const Status& status : results) {
      EXPECT_EQ(status.code(), StatusCode::mismatch) << status.to_string();
      for (const std::string& part : parts)
        EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.to_string();
    }
  }
};

TensorView view(std::vector<float>& memory, std::int64_t first, std::int64_t count,
                DType dtype = DType::float32) {
  return TensorView::contiguous(memory.data() + first, dtype, {count});
}

TEST_P(ExchangeDisagreementTest, CountsTypesAndOpsOfAReductionAreNamed) {
  expect_mismatch({"all_reduce", "bytes", "12", "20"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    const std::int64_t count = is_odd ? 5 : 3;
    return all_reduce(comm.channel(), view(memory, 0, count), view(memory, 10, count), ReduceOp::sum);
  });
  // One of them takes the algorithm for large inputs.
  expect_mismatch({"all_reduce"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(10000);
    const std::int64_t count = is_odd ? 5000 : 3;
    return all_reduce(comm.channel(), view(memory, 0, count), view(memory, 5000, count), ReduceOp::sum);
  });
  expect_mismatch({"data type", "float32", "int32"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    const DType dtype = is_odd ? DType::int32 : DType::float32;
    return all_reduce(comm.channel(), view(memory, 0, 4, dtype), view(memory, 10, 4, dtype), ReduceOp::sum);
  });
  expect_mismatch({"reduce op", "sum", "max"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    return all_reduce(comm.channel(), view(memory, 0, 4), view(memory, 10, 4),
                      is_odd ? ReduceOp::max : ReduceOp::sum);
  });
  expect_mismatch({"operation", "all_reduce", "reduce_scatter"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    if (is_odd) return all_reduce(comm.channel(), view(memory, 0, 6), view(memory, 10, 6), ReduceOp::sum);
    return reduce_scatter(comm.channel(), view(memory, 0, 2 * comm.size()), view(memory, 12, 2),
                          ReduceOp::sum);
  });
}

TEST_P(ExchangeDisagreementTest, CountsOfAReduceScatterAreNamed) {
  expect_mismatch({"reduce_scatter", "bytes"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(64);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.size()), 4);
    if (is_odd) counts[0] = 5, counts[1] = 3;
    const std::int64_t own = counts[static_cast<std::size_t>(comm.rank())];
    return reduce_scatter(comm.channel(), view(memory, 0, 4 * comm.size()), view(memory, 40, own),
                          ReduceOp::sum, counts);
  });
}

TEST_P(ExchangeDisagreementTest, RootCountAndTypeOfABroadcastAreNamed) {
  // A network takes a small block without its receiver: both roots may have ended, and hear it in the next
  // call.
  const bool is_buffered = GetParam().medium == "message";
  expect_mismatch({is_buffered ? "broadcast" : "root differs in broadcast"},
                  [](Communicator& comm, bool is_odd) {
                    std::vector<float> memory(20);
                    return broadcast(comm.channel(), view(memory, 0, 4), view(memory, 10, 4), is_odd ? 1 : 0);
                  });
  expect_mismatch({"broadcast", "bytes", "16", "12"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    const std::int64_t count = is_odd ? 3 : 4;
    return broadcast(comm.channel(), view(memory, 0, count), view(memory, 10, count), 0);
  });
  expect_mismatch({"data type", "float32", "int32"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(20);
    const DType dtype = is_odd ? DType::int32 : DType::float32;
    return broadcast(comm.channel(), view(memory, 0, 4, dtype), view(memory, 10, 4, dtype), 0);
  });
}

TEST_P(ExchangeDisagreementTest, CountsOfAnAllToAllAreNamed) {
  expect_mismatch({"all_to_all", "bytes", "8", "12"}, [](Communicator& comm, bool is_odd) {
    std::vector<float> memory(64);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.size()), 2);
    std::vector<std::int64_t> received = counts;
    if (is_odd) received[0] = 3;  // rank 0 sends 2
    return all_to_all(comm.channel(), view(memory, 0, 2 * comm.size()),
                      view(memory, 20, 2 * comm.size() + (is_odd ? 1 : 0)), counts, received);
  });
}

TEST_P(ExchangeDisagreementTest, SizesAndTypesOfMessagesAreNamed) {
  expect_mismatch({"send_recv", "bytes", "12", "20"}, [](Communicator& comm, bool is_odd) -> Result<Work> {
    std::vector<float> memory(20);
    if (comm.rank() > 1) return Work();
    if (is_odd) return receive(comm.channel(), view(memory, 0, 5), 0);
    return send(comm.channel(), view(memory, 0, 3), 1);
  });
  expect_mismatch({"send_recv", "float32", "uint32"}, [](Communicator& comm, bool is_odd) -> Result<Work> {
    std::vector<float> memory(20);
    if (comm.rank() > 1) return Work();
    if (is_odd) return receive(comm.channel(), view(memory, 0, 4, DType::uint32), 0);
    return send(comm.channel(), view(memory, 0, 4), 1);
  });
  expect_mismatch({"operation differs", "barrier"}, [](Communicator& comm, bool is_odd) -> Result<Work> {
    std::vector<float> memory(20);
    if (is_odd) return receive(comm.channel(), view(memory, 0, 5), 0);
    return barrier(comm.channel());
  });
}

std::vector<MediumAndRanks> groups_of_two_and_three() {
  std::vector<MediumAndRanks> media;
  for (const MediumAndRanks& medium : thread_media()) {
    if (medium.ranks == 2 || medium.ranks == 3) media.push_back(medium);
  }
  for (const int ranks : {2, 3})
    media.push_back({"message", ranks, {message_transport(testing_support::memory_port())}});
  return media;
}

INSTANTIATE_TEST_SUITE_P(Media, ExchangeDisagreementTest, testing::ValuesIn(groups_of_two_and_three()),
                         name_of_case);

}  // namespace
}  // namespace ringcomm
