// SPDX-License-Identifier: Apache-2.0
// What a rank says about the operation it is in, so that a peer in another one is found at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ringcomm/core/dtype.hpp"
#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// The collective operations; the numbers travel between ranks and are never reused.
enum class OpCode : std::uint16_t {
  none = 0,
  barrier = 1,
  ring_rotate = 2,
  all_gather = 3,
  softmax_all_reduce = 4,
  ring_attention = 5,
  reduce_scatter = 6,
  all_reduce = 7,
  all_to_all = 8,
  broadcast = 9,
  send_recv = 10,
  softmax_reduce_scatter = 11,
  split = 12,
};
std::string_view name_of(OpCode op);

enum class ReduceOp : std::uint8_t {
  none = 0,
  softmax_normalised = 1,
  softmax_unnormalised = 2,
  sum = 3,
  max = 4,
  min = 5,
};
std::string_view name_of(ReduceOp op);

/// Travels beside every flag. 32 bytes, so that it shares a cache line with a small payload.
struct Descriptor {
  OpCode op = OpCode::none;
  DType dtype = DType::uint8;
  ReduceOp reduce_op = ReduceOp::none;
  std::uint32_t sequence = 0;   ///< per channel, counts operations from 1, wraps
  std::uint64_t bytes = 0;      ///< of the block that this flag announces
  std::uint64_t signature = 0;  ///< hash of the plan (shapes, mask, mode, sizes of all ranks)
  std::int32_t step = 0;        ///< step of the plan
  std::int32_t block = 0;       ///< whose data, as a rank
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};
static_assert(sizeof(Descriptor) == 32);

/// "ring_rotate #5 step 1, 4096 bytes of bfloat16".
std::string describe(const Descriptor& descriptor);

/// ok when both ranks are in the same place of the same operation; otherwise mismatch, naming both values of
/// the first difference in the order: operation, sequence, bytes, data type, reduce op, signature, step,
/// block.
Status compare(const Descriptor& mine, int my_rank, const Descriptor& theirs, int their_rank);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
