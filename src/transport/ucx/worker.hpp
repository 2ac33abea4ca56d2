// SPDX-License-Identifier: Apache-2.0
// One UCP context and worker: what one communicator has of UCX.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::transport::ucx {

class Worker {
 public:
  /// `net_devices` is taken unless the user set UCX_NET_DEVICES; "" leaves the choice to UCX.
  static Result<std::unique_ptr<Worker>> create(int ranks, const std::string& net_devices);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  /// What peers need to reach this worker.
  Result<std::vector<std::byte>> address() const;
  /// Readable when there may be something to progress, once arm() has said true.
  int event_fd() const { return event_fd_; }
  /// False when there is something to progress already.
  bool arm();

  /// A hint: memory that cannot be registered travels all the same, and one line says so.
  void register_memory(std::byte* data, std::size_t bytes);
  void deregister_memory(const std::byte* data);
  /// Null when the range is in no registered memory.
  ucp_mem_h find_memory(const std::byte* data, std::size_t bytes) const;

 private:
  struct Registration {
    std::byte* data;
    std::size_t bytes;
    ucp_mem_h handle;
  };
  Worker() = default;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::vector<Registration> registrations_;
};

}  // namespace ringcomm::inline v0::transport::ucx
