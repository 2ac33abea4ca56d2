// SPDX-License-Identifier: Apache-2.0
// What a transport's conformance test supplies, and what the claims are written with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringcomm/device/segment.hpp"
#include "ringcomm/device/stream.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::conformance {

/// How to run ranks over the transport under test.
class TransportHarness {
 public:
  using Body = std::function<void(int rank, Transport& transport)>;
  virtual ~TransportHarness() = default;
  /// Runs `body` once per rank, each with its own connected transport, which goes as soon as its body
  /// returns. Returns when all are done, within a bound. Ranks may be processes: bodies share no variables,
  /// and what fails in a body (EXPECT_...) must fail the test.
  virtual void run(int ranks, const Body& body) = 0;
  /// Factor for the deadlines of ranks that have to hear of each other before they expire: more for those
  /// that poll on shared cores.
  virtual int slowness() const { return 3; }
};

/// Ranks are threads of this process, whatever moves the bytes.
class ThreadHarness : public TransportHarness {
 public:
  explicit ThreadHarness(TransportFactory make, TransportOptions options = {})
      : make_(std::move(make)), options_(options) {}
  void run(int ranks, const Body& body) override;

 private:
  TransportFactory make_;
  TransportOptions options_;
};

/// One rank's state inside a body: a channel of all ranks, memory to offer from, a stream if one is needed.
class Rank {
 public:
  /// Opens channel `ordinal` over all `size` ranks and registers a zeroed segment.
  Rank(int rank, int size, Transport& transport, std::size_t bytes = 1 << 16, std::uint32_t ordinal = 0);
  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
  std::byte* block(std::size_t offset = 0) const { return segment->data() + offset; }
  void announce(const Descriptor& d);
  /// run(), or submit() and synchronize() on stream-ordered transports.
  Status go(std::vector<TransportOp> batch, Deadline deadline = Deadline::after(std::chrono::seconds(60)));
  Status go(TransportChannel& over, std::vector<TransportOp> batch,
            Deadline deadline = Deadline::after(std::chrono::seconds(60)));

  const int rank;
  const int size;
  Transport& transport;
  const Capabilities can;
  std::shared_ptr<Segment> segment;
  /// A peer that has failed and gone before this rank saw everybody open is reported here, then by go().
  Status opened;
  std::unique_ptr<TransportChannel> channel;
  std::optional<Stream> stream;
};

/// A descriptor of operation `sequence` (ring_rotate, bfloat16, signature 17).
Descriptor describe_block(std::uint32_t sequence, std::size_t bytes, int step = 0);

TransportOp offer(int peer, std::byte* from, const Descriptor& d);
TransportOp take(int peer, RemoteView& view, const Descriptor& d);
TransportOp pull(int peer, std::byte* to, const Descriptor& d);
TransportOp release(int peer, const Descriptor& d);
TransportOp reclaim(int peer, const Descriptor& d);
TransportOp send(int peer, std::byte* from, const Descriptor& d);
TransportOp recv(int peer, std::byte* to, const Descriptor& d);

/// The bytes that `rank` has in round `round`, and whether memory holds them.
void fill(std::byte* target, std::size_t bytes, int rank, int round);
bool holds(const std::byte* data, std::size_t bytes, int rank, int round);

inline Deadline in_ms(int ms) { return Deadline::after(std::chrono::milliseconds(ms)); }
std::int64_t ms_since(std::int64_t started_ns);

}  // namespace ringcomm::conformance
