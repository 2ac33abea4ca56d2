// SPDX-License-Identifier: Apache-2.0
#include "softmax_three.hpp"

int main(int argc, char** argv) {
  ringcomm::perf::peers::ThreeReductions peer;
  return ringcomm::perf::peers::serve(&argc, &argv, "3 x MPI_Allreduce", peer);
}
