// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../sample_request.hpp"
#include "answer.hpp"
#include "bind.hpp"

namespace ringcomm::perf::peers {
namespace {

/// Rank 0's request on every rank. The others sleep between two looks, longer when nothing comes: a spinning
/// MPI_Bcast would take a core from the library that is measured meanwhile.
SampleRequest next_request() {
  std::int64_t message[2] = {};
  if (rank() == 0) {
    const SampleRequest request = read_request(stdin);
    message[0] = request.bytes;
    message[1] = request.iterations;
  }
  MPI_Request pending = MPI_REQUEST_NULL;
  MPI_Ibcast(message, 2, MPI_INT64_T, 0, MPI_COMM_WORLD, &pending);
  for (int looks = 0, is_done = 0;; ++looks) {
    MPI_Test(&pending, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) break;
    usleep(looks < 20 ? 500 : 5000);
  }
  return {message[0], static_cast<int>(message[1])};
}

}  // namespace

bool has_flag(int argc, char** argv, const char* flag) {
  return std::any_of(argv, argv + argc, [&](const char* word) { return std::strcmp(word, flag) == 0; });
}

int serve(int* argc, char*** argv, const char* name, Peer& peer) {
  take_priority();
  MPI_Init(argc, argv);
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(library, &length);
  library[std::strcspn(library, ",\n\"\\")] = 0;  // the first words: name and version
  std::replace(library, library + sizeof(library), '\t', ' ');
  bind_rank(rank());
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
    print_answer(stats_of(us), wrong, bytes, name, library);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace ringcomm::perf::peers
