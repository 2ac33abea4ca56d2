// SPDX-License-Identifier: Apache-2.0
// Bytes to a peer: the one interface that shared memory, NCCL groups, MPI requests and puts all fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/event_sink.hpp"
#include "ringcomm/core/status.hpp"
#include "ringcomm/device/segment.hpp"
#include "ringcomm/device/stream.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Who moves the data between submit() and completion.
enum class Progress : std::uint8_t { caller, device };

/// What a transport can do, as data: selection and lowering read it, nothing throws "not implemented".
struct Capabilities {
  bool direct_read = false;     ///< offer, take, pull, release, reclaim
  bool two_sided = false;       ///< send, recv
  bool stream_ordered = false;  ///< submit() needs a stream and never blocks the host on data
  bool group_required = false;  ///< all sends and recvs of a step must be in one batch
  bool capture_safe = false;    ///< may run under graph capture
  bool survives_peer_death = true;
  Progress progress = Progress::caller;
};

enum class TransportOpKind : std::uint8_t { offer, take, pull, release, reclaim, send, recv };

/// A peer's block in this process's address space, valid until released.
struct RemoteView {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// One resolved operation. Semantics are those of plan::OpKind. Ranks are positions in the channel's member
/// list.
struct TransportOp {
  TransportOpKind kind = TransportOpKind::offer;
  std::int32_t peer = 0;
  std::byte* address =
      nullptr;              ///< offer, send: source (offer: inside a registered segment); pull, recv: target
  std::size_t bytes = 0;    ///< exact; a peer that offers another size is a mismatch
  Descriptor descriptor{};  ///< what this rank believes; compared with the peer's
  RemoteView* view = nullptr;  ///< take: filled in
  /// pull, recv, and the release of a pull: what arrived is read later by the caller, who then tells the
  /// channel's sink that it is computed and released.
  bool is_read_later = false;
  /// release of a take: the caller has read the block until this moment and tells nobody itself: the
  /// transport records it as computed together with released.
  bool ends_reading = false;
};

/// Names a channel: the same on all members. Members are ranks of the communicator.
struct ChannelKey {
  std::vector<int> members;
  std::uint32_t ordinal = 0;
  friend bool operator==(const ChannelKey&, const ChannelKey&) = default;
};

/// The lanes between the members of one channel. One thread or stream at a time.
class TransportChannel {
 public:
  virtual ~TransportChannel() = default;
  /// Where the states of messages go; before the first use. The sink may be null and outlives the channel. A
  /// transport that does not override this records none.
  virtual void set_sink(ChannelSink* sink) { static_cast<void>(sink); }
  /// Says which operation this rank has entered, so that a peer that waits for something else finds out.
  virtual void announce(const Descriptor& descriptor) = 0;
  /// Runs the batch in order and returns when it is complete. Sends and recvs of one batch proceed together.
  /// Errors: mismatch (naming both values), peer_lost, timeout (naming who was waited for, in what), aborted,
  /// invalid_argument (an address outside every registered segment, a kind the capabilities exclude).
  /// Any failure but invalid_argument is also told to all peers, and every later call returns it.
  virtual Status run(std::span<const TransportOp> batch, Deadline deadline) = 0;
  /// Queues the batch on `stream`; it must stay alive until it has run. Transports that are not
  /// stream_ordered run it inside the stream's worker. With an empty stream it is run() (stream_ordered
  /// transports refuse that).
  virtual Status submit(std::span<const TransportOp> batch, StreamView stream, Deadline deadline);
};

struct TransportCounters {
  std::uint64_t messages = 0;  ///< offers and sends
  std::uint64_t bytes_offered = 0;
  std::uint64_t bytes_copied = 0;  ///< pulled or received into local memory
  std::uint64_t bytes_viewed = 0;  ///< taken in place
  std::uint64_t sleeps = 0;        ///< waits that went to the kernel
};

enum class WaitStyle : std::uint8_t {
  automatic,       ///< by ranks on this host against usable CPUs
  own_core,        ///< spin about 1,000 pauses, then futex
  oversubscribed,  ///< some 10 pauses, then yield some hundred times, then futex
};

/// Hears of a rank's failure where the transport finds it.
class FailureListener {
 public:
  virtual ~FailureListener() = default;
  /// This rank has found something (not: aborts) and is about to tell its peers. What is returned is told:
  /// the same code, with more in its message. Any thread; may take some 300 ms.
  virtual Status explain(Status found, int culprit) noexcept = 0;
  /// The failure in force from now on, found here or told by a peer; `culprit` -1 where nobody is named.
  /// Once, any thread. Does not block, and calls nothing of the transport.
  virtual void on_failure(const Status& failure, int culprit) noexcept = 0;
};

struct TransportOptions {
  WaitStyle wait_style = WaitStyle::automatic;
  FailureListener* listener = nullptr;  ///< may be null; outlives the transport and its channels
};

/// One rank's end of one communicator's connections.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;  ///< "inproc", "shm", ...
  virtual Capabilities capabilities() const = 0;
  /// ok, or not_available with the clause that fails for this group.
  virtual Status can_serve(const Bootstrap& bootstrap) const = 0;
  /// Collective over the group.
  virtual Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) = 0;
  /// Collective over the members. The deadline message lists the members that have not opened it.
  virtual Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key,
                                                                 Deadline deadline) = 0;
  /// Memory from which offers may be made. Held until the transport goes or deregister_segment(). Peers are
  /// told on first use, not here.
  virtual Status register_segment(std::shared_ptr<Segment> segment) = 0;
  virtual void deregister_segment(const Segment* segment) = 0;
  /// What moves bytes to `peer`: name() unless the transport routes over others.
  virtual std::string_view path_name(int peer) const = 0;
  /// Fails this rank's end with `reason` and tells all peers; every blocked call of every rank returns. Any
  /// thread, never blocks. The first failure stays.
  virtual void abort(Status reason) = 0;
  /// ok, or the first failure. Any thread.
  virtual Status health() const = 0;
  virtual TransportCounters counters() const = 0;
};

/// Makes one unconnected instance per rank; CommunicatorOptions takes these, so that tests can wrap a
/// transport.
using TransportFactory = std::function<std::unique_ptr<Transport>()>;
TransportFactory inproc_transport();
TransportFactory shm_transport();
/// Between hosts, or inside one when named. Its code is a plug-in (libringcomm_ucx.so) that is loaded when it
/// is first asked whether it can serve.
TransportFactory ucx_transport();
/// For sites where MPI is the only sanctioned network; a plug-in as well (libringcomm_mpi.so).
TransportFactory mpi_transport();

/// inproc, shm and, for groups that span hosts, ucx.
std::vector<TransportFactory> default_transports();

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
