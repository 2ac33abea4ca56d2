// SPDX-License-Identifier: Apache-2.0
// Two ways to run ranks over shm in tests: as threads that hold the sockets of processes, and as processes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/transport_harness.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "support/process_ranks.hpp"
#include "transport/shm/transport.hpp"

namespace ringcomm::conformance {

/// Ranks are threads, which meet over socketpairs; everything else is as between processes.
class ShmThreadHarness : public TransportHarness {
 public:
  explicit ShmThreadHarness(std::uint32_t first_epoch = 0) : first_epoch_(first_epoch) {}
  void run(int ranks, const Body& body) override {
    ForkedMesh mesh = check(ForkedMesh::create(ranks));
    std::vector<std::unique_ptr<Bootstrap>> groups;
    for (int rank = 0; rank < ranks; ++rank) groups.push_back(check(mesh.take(rank)));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        transport::shm::Transport transport(first_epoch_);
        const Status status = transport.connect(*groups[static_cast<std::size_t>(rank)], {}, in_ms(30'000));
        ASSERT_TRUE(status.is_ok()) << status.to_string();
        body(rank, transport);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::uint32_t first_epoch_;
};

/// Connects rank `rank` of the mesh and runs `body`; "" when that went well and no expectation failed.
inline std::string run_shm_rank(ForkedMesh& mesh, int rank, const TransportHarness::Body& body) {
  auto group = mesh.take(rank);
  if (!group.is_ok()) return group.status().to_string();
  transport::shm::Transport transport;
  const Status status = transport.connect(*group.value(), {}, in_ms(30'000));
  if (!status.is_ok()) return status.to_string();
  body(rank, transport);
  return testing::Test::HasFailure() ? "an expectation failed, see above" : "";
}

/// Ranks are forked processes.
class ShmProcessHarness : public TransportHarness {
 public:
  void run(int ranks, const Body& body) override {
    ForkedMesh mesh = check(ForkedMesh::create(ranks));
    test::ProcessRanks processes(
        ranks, [&](int rank, const test::RankVoice&) { return run_shm_rank(mesh, rank, body); });
    EXPECT_EQ(test::failures_of(processes.wait_all(std::chrono::seconds(90))), "");
  }
};

}  // namespace ringcomm::conformance
