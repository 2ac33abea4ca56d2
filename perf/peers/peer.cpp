// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../sample_request.hpp"
#include "../stats.hpp"

namespace ringcomm::perf::peers {
namespace {

/// As the ranks of ringcomm-perf are bound: one CPU each, in turn.
void bind_to_cpu(int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  if (cpus.empty()) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus[static_cast<std::size_t>(index) % cpus.size()], &one);
  sched_setaffinity(0, sizeof(one), &one);
}

/// Rank 0's request on every rank. The others sleep between two looks: a spinning MPI_Bcast would take a core
/// from the library that is measured meanwhile.
SampleRequest next_request() {
  std::int64_t message[2] = {};
  if (rank() == 0) {
    const SampleRequest request = read_request(stdin);
    message[0] = request.bytes;
    message[1] = request.iterations;
  }
  MPI_Request pending = MPI_REQUEST_NULL;
  MPI_Ibcast(message, 2, MPI_INT64_T, 0, MPI_COMM_WORLD, &pending);
  for (int is_done = 0;;) {
    MPI_Test(&pending, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) break;
    usleep(500);
  }
  return {message[0], static_cast<int>(message[1])};
}

}  // namespace

std::uint64_t read_all(const std::byte* data, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  const std::size_t count = bytes / sizeof(std::uint64_t);
  std::uint64_t lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += words[i + lane];
  }
  for (; i < count; ++i) lanes[0] += words[i];
  return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
}

int serve(int* argc, char*** argv, const char* name, Peer& peer) {
  MPI_Init(argc, argv);
  bind_to_cpu(rank());
  std::int64_t prepared = -1;
  std::size_t bytes = 0;
  for (;;) {
    const SampleRequest request = next_request();
    if (request.iterations <= 0) break;
    if (request.bytes != prepared) bytes = peer.prepare(static_cast<std::size_t>(request.bytes));
    prepared = request.bytes;
    std::vector<double> us;
    for (int i = -1; i < request.iterations; ++i) {  // one to warm up
      peer.write();
      MPI_Barrier(MPI_COMM_WORLD);
      const double begun = MPI_Wtime();
      peer.run();
      const double mine = (MPI_Wtime() - begun) * 1e6;
      double slowest = 0;
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (i >= 0) us.push_back(slowest);
    }
    const std::int64_t mine = peer.count_wrong();
    std::int64_t wrong = 0;
    MPI_Reduce(&mine, &wrong, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank() != 0) continue;
    const Stats stats = stats_of(us);
    std::printf(
        "{\"us\": %.4f, \"min_us\": %.4f, \"max_us\": %.4f, \"wrong\": %lld, \"size\": %zu, \"path\": "
        "\"%s\"}\n",
        stats.p50, stats.min, stats.max, static_cast<long long>(wrong), bytes, name);
    std::fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace ringcomm::perf::peers
