// SPDX-License-Identifier: Apache-2.0
#include "softmax_gather.hpp"

int main(int argc, char** argv) {
  ringcomm::perf::peers::GatherAndMerge peer;
  return ringcomm::perf::peers::serve(&argc, &argv, "MPI_Allgather + merge", peer);
}
