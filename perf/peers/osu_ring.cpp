// SPDX-License-Identifier: Apache-2.0
// MPI_Sendrecv as the OSU benchmarks time it, without perf/compare's protocol: BYTES ITERATIONS [--no-read].
// The peers' figures must not be worse than this loop's (perf/compare --check-peers). As with OSU's
// validation, the block is written before each timed exchange; what is timed is what the peers time.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../stats.hpp"
#include "bind.hpp"
#include "peer.hpp"

namespace ringcomm::perf::peers {
namespace {

int run(int argc, char** argv) {
  constexpr int kWarmUp = 5;
  take_priority();
  MPI_Init(&argc, &argv);
  bind_rank(rank());
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) / 64 * 64 : 65536;
  const int iterations = argc > 2 ? std::max(std::atoi(argv[2]), 1) : 100;
  const bool has_read = !has_flag(argc, argv, "--no-read");
  const auto sent = std::make_unique<std::byte[]>(bytes);
  const auto received = std::make_unique<std::byte[]>(bytes);
  volatile std::uint64_t sink = 0;
  std::vector<double> us;
  for (int i = -kWarmUp; i < iterations; ++i) {
    for (std::size_t at = 0; at < bytes; at += sizeof(at)) {
      const std::size_t word = at * static_cast<std::size_t>(i + kWarmUp + 1);
      std::memcpy(&sent[at], &word, sizeof(word));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    MPI_Sendrecv(sent.get(), static_cast<int>(bytes), MPI_BYTE, (rank() + 1) % size(), 0, received.get(),
                 static_cast<int>(bytes), MPI_BYTE, (rank() + size() - 1) % size(), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (has_read) sink = sink + read_all(received.get(), bytes);
    const double mine = (MPI_Wtime() - begun) * 1e6;
    double slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (i >= 0) us.push_back(slowest);
  }
  const Stats stats = stats_of(us);
  if (rank() == 0) std::printf("{\"us\": %.4f, \"mean_us\": %.4f}\n", stats.p50, stats.mean);
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) { return ringcomm::perf::peers::run(argc, argv); }
