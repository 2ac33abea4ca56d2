// SPDX-License-Identifier: Apache-2.0
// Turns a rank's plan slice into a flat program: addresses resolved, transport operations cut into batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/plan/plan.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::collectives {

inline constexpr std::int32_t kNoIndex = -1;

/// A consumer's step: `slot` or, when it is null and the operation has a peer, `view` is what it reads.
struct Compute {
  plan::Op op;
  std::byte* slot = nullptr;
  std::byte* target = nullptr;
  const RemoteView* view = nullptr;
  std::int32_t wait_for = kNoIndex;  ///< comm batch that must be complete; kNoIndex with one queue
  std::uint32_t first_arrival = 0;   ///< range in Program::arrivals: what it is the reader of
  std::uint32_t arrivals = 0;
  bool is_told_by_releases = false;  ///< the batch behind it begins with the releases of all of them
};

/// Transport operations that are handed over in one call.
struct Batch {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int32_t after = kNoIndex;  ///< compute that must be done before; kNoIndex with one queue
  bool is_waited_for = false;     ///< a compute needs its completion
};

/// One entry of the caller's queue, in order: a batch or a compute, by index.
struct Item {
  enum class Kind : std::uint8_t { batch, compute };
  Kind kind = Kind::batch;
  std::uint32_t index = 0;
};

/// Movable; the operations point into the vectors' memory, which moving keeps.
struct Program {
  plan::RankPlan slice;
  std::vector<TransportOp> ops;
  std::vector<RemoteView> views;  ///< [ranks], the view last taken from each peer
  std::vector<Batch> batches;
  std::vector<Compute> computes;
  std::vector<std::uint32_t> arrivals;  ///< indices of takes, pulls and recvs, by the compute that reads them
  std::vector<Item> items;              ///< the caller's queue; with a comm queue, computes only
  bool has_comm_queue = false;          ///< all batches then belong to the comm stream, in order

  /// The one thing that differs from run to run. Never while the program runs.
  void set_sequence(std::uint32_t sequence) {
    for (TransportOp& op : ops) op.descriptor.sequence = sequence;
  }
  std::span<const TransportOp> ops_of(const Batch& batch) const {
    return std::span(ops).subspan(batch.first, batch.count);
  }
};

/// Tells the recorder that the compute is done, and that what arrived in slots for it is not read any more.
void record_computed(const Channel& channel, const Program& program, const Compute& compute);

/// `slots` are the addresses of the slice's slots (null for empty ones); `common` gives what all descriptors
/// share (op, data type, reduce op, signature). internal when the slice refers to what it does not have:
/// that is checked on every lowering, also where the verifier does not run.
Result<Program> lower(plan::RankPlan slice, std::span<std::byte* const> slots, const Descriptor& common);

}  // namespace ringcomm::inline v0::collectives
