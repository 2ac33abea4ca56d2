// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/mpi_ranks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "ringcomm/interop/mpi.hpp"

namespace ringcomm::conformance {
namespace {

/// A barrier that leaves the cores to those who still work.
void wait_for_all() {
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int is_done = 0; is_done == 0;) {
    MPI_Test(&all, &is_done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

bool with_ranks(int ranks, const std::function<void(MPI_Comm)>& body) {
  if (ranks > world_size()) return false;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() < ranks ? 0 : MPI_UNDEFINED, world_rank(), &mine);
  if (mine != MPI_COMM_NULL) {
    body(mine);
    MPI_Comm_free(&mine);
  }
  wait_for_all();
  return true;
}

void MpiHarness::run(int ranks, const Body& body) {
  with_ranks(ranks, [&](MPI_Comm comm) {
    auto group = bootstrap_mpi(comm, in_ms(30'000));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    const std::unique_ptr<Transport> transport = mpi_transport(comm)();
    const Status status = transport->connect(*group.value(), {}, in_ms(30'000));
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    body(group.value()->rank(), *transport);
  });
}

}  // namespace ringcomm::conformance
