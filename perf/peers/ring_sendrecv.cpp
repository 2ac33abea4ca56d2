// SPDX-License-Identifier: Apache-2.0
// ring_rotate as MPI_Sendrecv.
#include "ring.hpp"

namespace ringcomm::perf::peers {
namespace {

class SendrecvRing final : public Ring {
 public:
  using Ring::Ring;

 protected:
  void exchange() override {
    MPI_Sendrecv(sent_.get(), static_cast<int>(bytes_), MPI_BYTE, next(), 0, received_.get(),
                 static_cast<int>(bytes_), MPI_BYTE, previous(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
};

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  ringcomm::perf::peers::SendrecvRing ring(argc, argv);
  return ringcomm::perf::peers::serve(&argc, &argv, "MPI_Sendrecv", ring);
}
