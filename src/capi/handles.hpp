// SPDX-License-Identifier: Apache-2.0
// What the handles of the C interface point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/border.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/work.hpp"
#include "ringcomm/comm/communicator.hpp"

/// A handle that was destroyed, or is none, is found by its mark where the memory still shows it.
struct ringcommComm {
  static constexpr std::uint64_t kAlive = 0x72696e67636f6d6dU;

  explicit ringcommComm(ringcomm::Communicator made) : communicator(std::move(made)) {}
  bool is_alive() const { return mark == kAlive; }

  std::uint64_t mark = kAlive;
  ringcomm::Communicator communicator;
  int rank = 0;
  int size = 1;
  std::string name;
  std::vector<std::string> path_names;  ///< [size], with the terminating zero that C needs
  ringcomm::Work last_work;             ///< the channel runs in order, so that it stands for all before
  std::vector<float> unwanted;          ///< where statistics go that the caller does not want
  bool is_finalized = false;
  std::atomic<int> rotations{0};

  std::mutex error_mutex;
  std::string last_error;
};

struct ringcommRotation {
  ringcommRotation(ringcommComm* owner, ringcomm::RingRotation made)
      : comm(owner), rotation(std::move(made)) {
    ++comm->rotations;
  }
  ~ringcommRotation() { --comm->rotations; }
  ringcommRotation(const ringcommRotation&) = delete;
  ringcommRotation& operator=(const ringcommRotation&) = delete;

  ringcommComm* comm;
  ringcomm::RingRotation rotation;
  ringcomm::RotationStep step;  ///< refers to `rotation`, which therefore stays where it is
  std::vector<ringcommRotationPart_t> parts;
};

namespace ringcomm::inline v0::capi {

/// ok for a communicator that may be asked; finalized ones too.
Status check_handle(const ringcommComm* comm);

/// Runs `body` (returning Status, given the communicator) and keeps its failure with the communicator.
template <class Body>
ringcommResult_t run_on(std::string_view call, ringcommComm* comm, Body&& body) noexcept {
  if (Status handle = check_handle(comm); !handle.is_ok()) return report(call, nullptr, handle);
  return report(call, comm, comm::guard(call, [&]() -> Status { return body(*comm); }));
}

/// Empty for NULL; not_available for anything that ringcommStreamCreate did not make.
Result<StreamView> stream_of(ringcommStream_t stream);

struct ConfigRead {
  CommunicatorOptions options;
  std::string name;
};
Result<ConfigRead> read_config(const ringcommConfig_t* config);

/// Wraps what was made.
ringcommComm_t make_handle(Communicator made, const std::string& name);

}  // namespace ringcomm::inline v0::capi
