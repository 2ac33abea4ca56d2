// SPDX-License-Identifier: Apache-2.0
// The serving loop of the MPI peers: perf/compare's protocol, samples as ringcomm-perf --serve takes them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "../read_all.hpp"

namespace ringcomm::perf::peers {

/// The same work as one of ringcomm's operations, in plain MPI.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Allocates for this size; returns the bytes that the operation moves (rounded as ringcomm-perf rounds).
  virtual std::size_t prepare(std::size_t bytes) = 0;
  /// Untimed: writes this rank's input anew.
  virtual void write() = 0;
  /// Timed.
  virtual void run() = 0;
  /// Elements of the last run that differ from what must come out.
  virtual std::int64_t count_wrong() = 0;
};

inline int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}
inline int size() {
  int value = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}

/// MPI_Init, this rank bound to CPU rank % CPUs, then samples until the input ends. The program's exit code.
int serve(int* argc, char*** argv, const char* name, Peer& peer);

/// Whether the command line has this word.
bool has_flag(int argc, char** argv, const char* flag);

}  // namespace ringcomm::perf::peers
