// SPDX-License-Identifier: Apache-2.0
// A transport as NCCL would be one: grouped, stream-ordered, two-sided only. Keeps the interface honest.
#pragma once

#include <memory>
#include <mutex>

#include "ringcomm/transport/transport.hpp"

namespace ringcomm::testing_support {

/// Threads of one process. Strict where NCCL is merely undefined:
/// - run(), an empty stream and every direct operation are invalid_argument;
/// - the k-th batch of a rank that names a peer meets that peer's k-th batch that names the rank; sends and
///   recvs that do not pair up inside the two are a mismatch (with NCCL: a hang or wrong data);
/// - data move only when both batches have had their turn on their streams; until then every target holds
///   0xFF bytes.
class GroupedFakeTransport final : public Transport {
 public:
  GroupedFakeTransport();
  ~GroupedFakeTransport() override;
  std::string_view name() const override { return "grouped_fake"; }
  Capabilities capabilities() const override;
  Status can_serve(const Bootstrap& bootstrap) const override;
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override;
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key, Deadline deadline) override;
  /// Sends may come from any memory.
  Status register_segment(std::shared_ptr<Segment>) override { return {}; }
  void deregister_segment(const Segment*) override {}
  std::string_view path_name(int) const override { return name(); }
  void abort(Status reason) override;
  Status health() const override;
  TransportCounters counters() const override;

  class Board;
  struct Counted;

 private:
  std::shared_ptr<Board> board_;
  std::shared_ptr<Counted> counted_;
  int rank_ = 0;
};

TransportFactory grouped_fake_transport();

}  // namespace ringcomm::testing_support
