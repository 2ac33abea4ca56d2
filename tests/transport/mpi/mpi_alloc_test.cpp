// SPDX-License-Identifier: Apache-2.0
// Counts operator new of the message transport over MPI (MPI itself uses malloc) once the buffers are warm.
#include <gtest/gtest.h>

#include <algorithm>

#include "ringcomm/transport/transport.hpp"
#include "support/allocation_count.hpp"
#include "transport/mpi/mpi_ranks.hpp"

namespace ringcomm::conformance {
namespace {

TEST(MpiAllocTest, RunAllocatesNothingInSteadyState) {
  // How many messages are ever under way at once is a matter of timing, and so is when the last buffer is
  // made.
  constexpr int kAttempts = 6;
  constexpr int kRounds = 50;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{100'000}}) {
    MpiHarness harness;
    harness.run(3, [bytes](int rank, Transport& transport) {
      Rank me(rank, 3, transport, 4 * bytes);
      const Descriptor d = describe_block(1, bytes);
      const std::vector<TransportOp> batch{
          send(me.next(), me.block(), d), recv(me.previous(), me.block(bytes), d),
          send(me.previous(), me.block(), d), recv(me.next(), me.block(2 * bytes), d)};
      long least = kRounds;
      for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const long before = test::allocations();
        for (int round = 0; round < kRounds; ++round) {
          me.announce(d);
          const Status status = me.channel->run(batch, Deadline());
          ASSERT_TRUE(status.is_ok()) << status.to_string();
        }
        least = std::min(least, test::allocations() - before);
      }
      EXPECT_EQ(least, 0) << bytes << " bytes";
    });
  }
}

}  // namespace
}  // namespace ringcomm::conformance
