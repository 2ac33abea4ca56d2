// SPDX-License-Identifier: Apache-2.0
// UCX as a message port: control messages are eager active messages, data is active messages that UCX moves
// eagerly or by its own rendezvous, into the posted receive.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ringcomm/transport/message_port.hpp"
#include "transport/ucx/control_order.hpp"
#include "transport/ucx/peer_watch.hpp"
#include "transport/ucx/transfers.hpp"
#include "transport/ucx/worker.hpp"

namespace ringcomm::inline v0::transport::ucx {

class UcxPort final : public MessagePort {
 public:
  UcxPort() = default;
  ~UcxPort() override;
  UcxPort(const UcxPort&) = delete;
  UcxPort& operator=(const UcxPort&) = delete;

  std::string_view name() const override { return "ucx"; }
  Status can_serve(const Bootstrap& bootstrap) const override;
  Status connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) override;
  Status send_control(int peer, std::span<const std::byte> bytes) override;
  Result<TransferId> send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) override;
  Result<TransferId> send_announced(int peer, std::span<const std::byte> announcement, std::uint64_t tag,
                                    const std::byte* data, std::size_t bytes) override;
  Result<TransferId> receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override;
  void expect(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override {
    if (peer != rank_) transfers_->expect(peer, tag, data, bytes);
  }
  void cancel() override;
  Result<bool> is_done(TransferId transfer) override { return transfers_->is_done(transfer); }
  Result<bool> progress() override;
  void sleep(std::chrono::microseconds at_most) override;
  void wake() override;
  Status register_memory(std::byte* data, std::size_t bytes) override;
  void deregister_memory(std::byte* data) override;

 private:
  /// Goes ahead of a control message; the first kGreetings of a peer are greetings.
  struct ControlHeader {
    std::uint32_t source = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::uint32_t kGreetings = 2;
  struct Peer {
    UcxPort* port = nullptr;
    int rank = 0;
    ucp_ep_h endpoint = nullptr;
    std::uint32_t sent = 0;  ///< control messages
    ControlOrder heard{kControlBytesMax};
    std::uint32_t greetings = 0;    ///< heard
    std::int64_t gap_since_ns = 0;  ///< 0: no message overtook another that is still missing
    bool is_near = false;           ///< behind UCX's shared memory
    bool is_over_tcp = false;       ///< and over nothing else
    bool is_lost = false;
    bool is_told = false;  ///< the sink knows
    std::int64_t lost_ns = 0;
    Status reason;
  };
  struct ControlBuffer {
    UcxPort* port = nullptr;
    ControlHeader header;
    std::array<std::byte, kControlBytesMax> bytes;
  };
  struct Mail {
    int peer = 0;
    std::size_t offset = 0, bytes = 0;
  };
  struct Inbox {
    std::vector<Mail> mails;
    std::vector<std::byte> bytes;
  };

  Status start(const Bootstrap& bootstrap);
  Status set_handlers();
  Status make_endpoints(const std::vector<std::vector<std::byte>>& addresses);
  Status watch_processes(const Bootstrap& bootstrap);
  Status complete_connections(Deadline deadline);
  Status greet_all(std::uint32_t greetings, Deadline deadline);
  std::string ranks_without_greeting(std::uint32_t greetings) const;
  void flush(std::chrono::milliseconds at_most);
  void look_at_lanes();

  Status send_am(Peer& peer, std::span<const std::byte> bytes, bool is_last);
  ucs_status_t on_control(const void* header, std::size_t header_bytes, const void* data, std::size_t bytes);
  ucs_status_t on_data(const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                       const ucp_am_recv_param_t& param);
  static bool is_eager(const Peer& to, std::size_t bytes);
  /// False, and the peer is lost, when the number cannot be right.
  bool hear(Peer& peer, std::uint32_t number, bool is_last, std::span<const std::byte> bytes);
  void post_mail(int peer, std::span<const std::byte> bytes);
  void lose(Peer& peer, Status reason);
  bool advance();
  bool deliver_mail();
  bool tell_lost(bool has_moved);
  void find_ended_processes();
  void find_gaps();
  void wait_for(std::vector<ucs_status_ptr_t>& requests, std::chrono::milliseconds at_most);
  /// Of all peers, or of those with whom something is under way. Waits for last words for at most
  /// `flush_max`, then for the ends of what was under way for at most `close_max`.
  void close_endpoints(bool is_all, std::chrono::milliseconds flush_max, std::chrono::milliseconds close_max);

  int rank_ = 0;
  MessageSink* sink_ = nullptr;
  int wake_fd_ = -1;
  PeerWatch watch_;
  std::int64_t watched_ns_ = 0;
  std::deque<Peer> peers_;  ///< callbacks hold addresses; [rank_] has no endpoint
  std::vector<std::unique_ptr<ControlBuffer>> buffers_;
  std::vector<ControlBuffer*> unused_buffers_;
  Inbox inbox_, delivering_;
  bool has_lost_ = false;  ///< somebody whom the sink has not been told of
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Transfers> transfers_;
};

}  // namespace ringcomm::inline v0::transport::ucx
