// SPDX-License-Identifier: Apache-2.0
// The suite of all collectives as a program for launchers: meets by the environment, runs it, ends with 0 and
// prints "rank R of N: all collectives over PATH", and on rank 0 also "ok CASES cases over PATH"; else prints
// the failure and ends with 1. Arguments: cases whose name begins so, if not all.
#include <cstdio>
#include <string>

#include "conformance/collectives_suite.hpp"
#include "ringcomm/ringcomm.hpp"

namespace {

int complain(int rank, const ringcomm::Status& status) {
  std::fprintf(stderr, "rank %d: %s\n", rank, status.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto created = ringcomm::Communicator::from_environment();
  if (!created.is_ok()) return complain(-1, created.status());
  ringcomm::Communicator comm = std::move(created).value();
  ringcomm::conformance::SuiteOptions options;
  if (argc > 1) options.only = argv[1];
  int cases = 0;
  const ringcomm::Status status = ringcomm::conformance::run_collectives_suite(comm, options, &cases);
  if (!status.is_ok()) return complain(comm.rank(), status);
  const std::string path(comm.path_name(comm.size() == 1 ? 0 : (comm.rank() + 1) % comm.size()));
  if (comm.rank() == 0) std::printf("ok %d cases over %s\n", cases, path.c_str());
  std::printf("rank %d of %d: all collectives over %s\n", comm.rank(), comm.size(), path.c_str());
  return 0;
}
