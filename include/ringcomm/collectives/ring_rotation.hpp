// SPDX-License-Identifier: Apache-2.0
// Rotates KV blocks round the ring: at step t a rank sees the block of the rank t places before it, without a
// copy where it can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/plan/rules.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class RotationChoice : std::uint8_t { automatic, direct, relay };

struct RotationOptions {
  /// automatic: direct where the transport can read peers' memory, else relay.
  RotationChoice mode = RotationChoice::automatic;
  plan::Overlap overlap = plan::Overlap::on;
  int direction = +1;
  /// [N] the member at each place of the ring, a permutation, the same on all ranks; empty: the channel's
  /// ring_order().
  std::vector<int> order{};
  std::size_t chunk_bytes = 0;  ///< relay only: cut a step's message; 0 = the channel's, else whole
  /// [N] rows of each member's block; empty: this rank's rows everywhere. Zero is legal.
  std::vector<std::int64_t> rows{};
  /// [N * N] needed[reader * N + owner]; empty: all.
  std::vector<std::uint8_t> needed{};
  OpCode op = OpCode::ring_rotate;
  std::uint64_t signature = 0;  ///< mixed into the plan's, for what the caller wants compared between ranks
  std::chrono::milliseconds deadline{0};
};

/// A contiguous piece of K and V that a step offers for reading.
struct RotationPart {
  int source = 0;              ///< the rank whose tokens these are
  std::int64_t row_first = 0;  ///< inside the owner's block
  std::int64_t row_count = 0;
  int head_first = 0;
  TensorView k;  ///< [row_count, heads, k_dim]
  TensorView v;  ///< [row_count, heads, v_dim]
};

class RingRotation;

/// One step's view; it must not outlive its rotation, nor be kept across next(). The pointers are dead once
/// it is destroyed. The owner gets its block back at next(), or at once by release().
class RotationStep {
 public:
  RotationStep() = default;
  RotationStep(RotationStep&& other) noexcept;
  RotationStep& operator=(RotationStep&& other) noexcept;
  ~RotationStep();
  explicit operator bool() const { return rotation_ != nullptr; }
  int index() const { return index_; }
  int source() const { return parts_.empty() ? -1 : parts_.front().source; }
  std::span<const RotationPart> parts() const { return parts_; }
  void release();

 private:
  friend class RingRotation;
  RingRotation* rotation_ = nullptr;
  int index_ = 0;
  std::span<const RotationPart> parts_;
};

/// Collective: all members create the same rotation and walk it together. The plan is built, checked and
/// lowered once; start() runs it again without allocating.
///
/// `k` [rows, heads, k_dim] and `v` [rows, heads, v_dim] are this rank's block. When both are contiguous, V
/// right behind K, in a window of the communicator, nothing is ever copied by direct mode; else start() packs
/// them once into the arena (counted). K and V travel as one message. Memory: direct none, relay two slots of
/// the largest block. Steps whose block is not needed are skipped.
class RingRotation {
 public:
  static Result<RingRotation> create(Channel& channel, const TensorView& k, const TensorView& v,
                                     const RotationOptions& options = {});
  RingRotation(RingRotation&&) noexcept;
  RingRotation& operator=(RingRotation&&) noexcept;
  ~RingRotation();

  /// Begins a rotation (the block's present contents). Errors as Channel::begin.
  Status start();
  /// The next step, after giving back the last one; empty at the end or on failure: look at status(). At the
  /// end the peers have all given this rank's block back, so that it may be overwritten.
  RotationStep next();
  /// ok, or why next() stopped.
  const Status& status() const;
  /// All in one: start(), `body` for each step, end.
  template <class Body>
  Status run(Body&& body) {
    if (Status started = start(); !started.is_ok()) return started;
    while (RotationStep step = next()) body(step);
    return status();
  }
  /// The slice that is executed.
  const plan::RankPlan& slice() const;
  plan::RotationMode mode() const;

 private:
  friend class RotationStep;
  struct Impl;
  explicit RingRotation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
