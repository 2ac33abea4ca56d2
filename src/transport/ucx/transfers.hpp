// SPDX-License-Identifier: Apache-2.0
// Data in flight: sends, posted receives, and what arrived before it was asked for, matched by (rank, tag).
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringcomm/transport/message_port.hpp"
#include "transport/ucx/worker.hpp"

namespace ringcomm::inline v0::transport::ucx {

/// Goes ahead of the bytes of a data message.
struct DataHeader {
  std::uint64_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t number = 0;  ///< of the control message that follows the header, where one does
};
/// The control message that announces a block travels behind its header, if it is no longer.
inline constexpr std::size_t kAnnouncementBytesMax = 64;

struct Destination {
  ucp_ep_h endpoint = nullptr;
  int peer = 0;
  bool is_eager = false;  ///< sent at once instead of by UCX's rendezvous, whatever UCX prefers
};

class Transfers {
 public:
  explicit Transfers(Worker& worker) : worker_(worker) {}
  ~Transfers() { drop_arrivals(); }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  Result<TransferId> send(const Destination& to, const DataHeader& header,
                          std::span<const std::byte> announcement, const std::byte* data, std::size_t bytes);
  /// From this rank to itself.
  TransferId send_to_self(int self, std::uint64_t tag, const std::byte* data, std::size_t bytes);
  TransferId receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes);
  /// As MessagePort's.
  void expect(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) {
    expected_.push_back({.peer = peer, .tag = tag, .data = data, .bytes = bytes});
  }
  /// What is expected is forgotten, posted receives fail with `reason`.
  void give_up(const Status& reason);
  Result<bool> is_done(TransferId id);
  /// Unfinished transfers with `peer` fail with `reason`.
  void fail(int peer, const Status& reason);

  /// From UCX's callback for data messages.
  ucs_status_t arrive(const DataHeader& header, void* data, std::size_t bytes,
                      const ucp_am_recv_param_t& param);
  /// Whether the data is here, or announced, that receive() would ask for.
  bool has_arrival(int peer, std::uint64_t tag) const;
  /// Begins to receive what has been both posted and announced; true when there was any.
  bool start_matches();
  /// Whether UCX still holds memory of some transfer, or of one with `peer`.
  bool has_moving(std::optional<int> peer = std::nullopt) const;
  /// Gives UCX back what arrived and was never asked for.
  void drop_arrivals();

 private:
  enum class State : std::uint8_t { unused, posted, moving, done, failed };
  /// What goes ahead of the bytes, in one piece.
  struct Heading {
    DataHeader header;
    std::array<std::byte, kAnnouncementBytesMax> announcement{};
  };
  struct Transfer {
    State state = State::unused;
    std::uint32_t generation = 0;
    std::uint32_t index = 0;
    int peer = 0;
    Heading heading;
    std::byte* data = nullptr;  ///< of a receive
    std::size_t bytes = 0;
    bool is_own = false;  ///< from this rank to itself: UCX knows nothing of it
    Status failure;
  };
  struct Arrival {
    int source = 0;
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    const std::byte* data = nullptr;      ///< unless is_rendezvous
    void* descriptor = nullptr;           ///< UCX's, to be given back
    std::unique_ptr<std::byte[]> copy{};  ///< holds `data` where UCX cannot keep it
    bool is_rendezvous = false;
    std::optional<std::uint32_t> sender{};  ///< index of the own send, for rank to itself
  };
  struct Expected {
    int peer = 0;
    std::uint64_t tag = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  Transfer& take_slot();
  static TransferId id_of(const Transfer& transfer);
  static void finish(Transfer& transfer, ucs_status_t status, std::size_t bytes);
  void match(Transfer& transfer, const Arrival& arrival);
  /// Receives what is here, not announced by UCX's rendezvous.
  static void take(Transfer& transfer, const Arrival& arrival);
  /// The posted receive that waits for this, no longer posted; null when there is none.
  Transfer* take_posted(int source, std::uint64_t tag);
  ucp_request_param_t parameters(Transfer& transfer, const std::byte* data, std::size_t bytes) const;

  Worker& worker_;
  std::deque<Transfer> slots_;  ///< callbacks hold addresses
  std::vector<std::uint32_t> unused_;
  std::vector<std::uint32_t> posted_;
  std::vector<Expected> expected_;
  std::vector<Arrival> arrivals_;
  bool has_new_ = false;       ///< arrivals, since start_matches() last looked
  bool has_finished_ = false;  ///< receives, the same
};

}  // namespace ringcomm::inline v0::transport::ucx
