// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/descriptor.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

std::string_view name_of(OpCode op) {
  switch (op) {
    case OpCode::none:
      return "no operation";
    case OpCode::barrier:
      return "barrier";
    case OpCode::ring_rotate:
      return "ring_rotate";
    case OpCode::all_gather:
      return "all_gather";
    case OpCode::softmax_all_reduce:
      return "softmax_all_reduce";
    case OpCode::ring_attention:
      return "ring_attention";
    case OpCode::reduce_scatter:
      return "reduce_scatter";
    case OpCode::all_reduce:
      return "all_reduce";
    case OpCode::all_to_all:
      return "all_to_all";
    case OpCode::broadcast:
      return "broadcast";
    case OpCode::send_recv:
      return "send_recv";
    case OpCode::softmax_reduce_scatter:
      return "softmax_reduce_scatter";
    case OpCode::split:
      return "split";
  }
  return "unknown operation";
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::none:
      return "none";
    case ReduceOp::softmax_normalised:
      return "softmax (out, lse)";
    case ReduceOp::softmax_unnormalised:
      return "softmax (max, sum, out)";
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
  }
  return "unknown";
}

std::string describe(const Descriptor& d) {
  return concat(name_of(d.op), " #", d.sequence, " step ", d.step, ", ", d.bytes, " bytes of ",
                name_of(d.dtype));
}

Status compare(const Descriptor& mine, int my_rank, const Descriptor& theirs, int their_rank) {
  if (mine == theirs) [[likely]]
    return {};
  const auto differ = [&](std::string_view what, const auto& my_value, const auto& their_value) {
    return Status::mismatch(concat(what, " differs in ", name_of(mine.op), " #", mine.sequence, ": rank ",
                                   my_rank, " has ", my_value, ", rank ", their_rank, " has ", their_value));
  };
  if (mine.op != theirs.op) return differ("operation", name_of(mine.op), name_of(theirs.op));
  if (mine.sequence != theirs.sequence) return differ("sequence", mine.sequence, theirs.sequence);
  if (mine.bytes != theirs.bytes) return differ("block size in bytes", mine.bytes, theirs.bytes);
  if (mine.dtype != theirs.dtype) return differ("data type", name_of(mine.dtype), name_of(theirs.dtype));
  if (mine.reduce_op != theirs.reduce_op) {
    return differ("reduce op", name_of(mine.reduce_op), name_of(theirs.reduce_op));
  }
  if (mine.signature != theirs.signature) return differ("plan signature", mine.signature, theirs.signature);
  if (mine.step != theirs.step) return differ("step", mine.step, theirs.step);
  return differ(mine.op == OpCode::broadcast ? "root" : "block owner", mine.block, theirs.block);
}

}  // namespace ringcomm::inline v0
