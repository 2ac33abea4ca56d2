// SPDX-License-Identifier: Apache-2.0
// Collectives that move without reducing: broadcast, all-to-all, and groups of sends and receives.
#pragma once

#include <cstdint>
#include <span>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Everybody's `output` becomes `root`'s `input`.
///
/// @param input   read on `root` only (any strides; other ranks may pass an empty view).
/// @param output  contiguous, same dtype and element count everywhere; on `root` it may equal `input`.
/// Errors: mismatch for root, count or dtype that differ; where a network buffers a small block, two roots
/// may hear it in their next call only. Cost: (N-1) reads of the root's block.
Result<Work> broadcast(Channel& channel, const TensorView& input, const TensorView& output, int root,
                       const CallOptions& options = {});

/// Member r sends send_counts[p] elements to each member p and receives receive_counts[p] from it.
///
/// @param input           [sum of send_counts], in order of receiver; any strides.
/// @param output          [sum of receive_counts], contiguous, in order of sender; no overlap with `input`.
/// @param send_counts     [channel.size()]; empty: an N-th of `input` each.
/// @param receive_counts  [channel.size()]; receive_counts[p] here equals send_counts[own] on p (else
/// mismatch).
/// Zero counts are legal. Cost: (N-1)/N of the bytes, one round.
Result<Work> all_to_all(Channel& channel, const TensorView& input, const TensorView& output,
                        std::span<const std::int64_t> send_counts = {},
                        std::span<const std::int64_t> receive_counts = {}, const CallOptions& options = {});

/// One message of a group.
struct PointToPoint {
  enum class Kind : std::uint8_t { send, receive };
  Kind kind = Kind::send;
  int peer = 0;       ///< member of the channel; the own rank pairs with the own receive
  TensorView tensor;  ///< send: any strides; receive: contiguous
};

/// Messages that proceed together, so that no order of them can deadlock. From one member to another the k-th
/// send meets the k-th receive, counted over all calls on this channel; give both in calls of the same number
/// between the two (transports that demand groups, as NCCL's, refuse another grouping). A member that neither
/// sends nor receives need not call. Sends and receives keep their order among the channel's collectives.
/// Zero elements are legal and still meet. Errors: mismatch naming sizes or dtypes that differ, on both
/// sides.
Result<Work> send_recv(Channel& channel, std::span<const PointToPoint> group,
                       const CallOptions& options = {});
Result<Work> send(Channel& channel, const TensorView& tensor, int peer, const CallOptions& options = {});
Result<Work> receive(Channel& channel, const TensorView& tensor, int peer, const CallOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
