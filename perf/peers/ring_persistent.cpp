// SPDX-License-Identifier: Apache-2.0
// ring_rotate with persistent requests.
#include "ring.hpp"

namespace ringcomm::perf::peers {
namespace {

class PersistentRing final : public Ring {
 public:
  using Ring::Ring;
  std::size_t prepare(std::size_t bytes) override {
    release();
    const std::size_t rounded = Ring::prepare(bytes);
    MPI_Send_init(sent_.get(), static_cast<int>(bytes_), MPI_BYTE, next(), 0, MPI_COMM_WORLD, &requests_[0]);
    MPI_Recv_init(received_.get(), static_cast<int>(bytes_), MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
                  &requests_[1]);
    return rounded;
  }
  void release() {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

 protected:
  void exchange() override {
    MPI_Startall(2, requests_);
    MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  ringcomm::perf::peers::PersistentRing ring(argc, argv);
  return ringcomm::perf::peers::serve(&argc, &argv, "MPI_Startall", ring);
}
