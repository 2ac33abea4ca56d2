// SPDX-License-Identifier: Apache-2.0
// Stands in, as weak symbols, until shm and the process bootstrap have landed; goes away with them.
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0 {

[[gnu::weak]] Result<LaunchInfo> read_launch_environment() { return Status::not_found("no launcher yet"); }
[[gnu::weak]] Result<ForkedMesh> ForkedMesh::create(int) { return Status::not_available("no processes yet"); }
[[gnu::weak]] ForkedMesh::ForkedMesh(ForkedMesh&&) noexcept {}
[[gnu::weak]] ForkedMesh::~ForkedMesh() {}
[[gnu::weak]] Result<std::unique_ptr<Bootstrap>> ForkedMesh::take(int) {
  return Status::not_available("no processes yet");
}
[[gnu::weak]] Result<std::unique_ptr<Bootstrap>> bootstrap_file_store(const std::filesystem::path&, int, int,
                                                                      Deadline) {
  return Status::not_available("no processes yet");
}
[[gnu::weak]] TransportFactory shm_transport() { return inproc_transport(); }

}  // namespace ringcomm::inline v0
