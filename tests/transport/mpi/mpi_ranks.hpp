// SPDX-License-Identifier: Apache-2.0
// Ranks of a test that are MPI processes: the first n of MPI_COMM_WORLD run, the others wait.
#pragma once

#include <mpi.h>

#include <functional>

#include "conformance/transport_harness.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::conformance {

int world_rank();
int world_size();

/// Calls `body` on the first `ranks` ranks with a communicator of theirs; all ranks of the world return
/// together. False, having done nothing, when the world is smaller.
bool with_ranks(int ranks, const std::function<void(MPI_Comm)>& body);

/// A claim runs on as many processes as it asks for.
class MpiHarness : public TransportHarness {
 public:
  int slowness() const override { return 5; }
  void run(int ranks, const Body& body) override;
};

}  // namespace ringcomm::conformance
