// SPDX-License-Identifier: Apache-2.0
// Control messages over MPI: receives that are always posted, sends from buffers that come back.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/transport/message_port.hpp"

namespace ringcomm::inline v0::transport::mpi {

/// Data have tags from 1.
inline constexpr int kControlTag = 0;

class Mailbox {
 public:
  explicit Mailbox(MPI_Comm comm) : comm_(comm) {}
  /// Posts the receives.
  Status open();
  Status send(int peer, std::span<const std::byte> bytes);
  /// Hands out what has come, in the order of each sender. Returns whether anything has.
  Result<bool> poll(const std::function<void(int peer, std::span<const std::byte>)>& on_message);
  bool has_unsent() const { return sending_ > 0; }
  /// Takes the receives back; nothing is under way any more.
  void close();

 private:
  static constexpr std::size_t kReceives = 16;
  using Buffer = std::array<std::byte, MessagePort::kControlBytesMax>;
  struct Outgoing {
    MPI_Request request = MPI_REQUEST_NULL;
    Buffer buffer;
  };
  Status collect_sent();

  MPI_Comm comm_;
  // Messages match the receives in the order in which these were started, so that only the oldest is looked
  // at.
  std::array<MPI_Request, kReceives> receives_{};
  std::array<Buffer, kReceives> received_;
  std::size_t next_ = 0;
  bool is_open_ = false;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  ///< the first `sending_` are under way
  std::size_t sending_ = 0;
};

}  // namespace ringcomm::inline v0::transport::mpi
