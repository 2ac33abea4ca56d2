// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come, come late, or make another call than the others.
#include <chrono>

#include "core/try.hpp"
#include "faults/made/fault_case.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::test {
namespace {

constexpr std::int64_t kElements = 256;

/// Computes, so that it is seen to be alive.
void compute_for(std::chrono::milliseconds time) {
  const std::int64_t end = now_ns() + std::chrono::nanoseconds(time).count();
  volatile double sum = 0;
  while (now_ns() < end) {
    for (int i = 0; i < 1000; ++i) sum = sum + 1.0;
  }
}

Status broadcast_once(Channel& channel) {
  std::vector<float> in(kElements), out(kElements);
  return broadcast(channel, TensorView::contiguous(in.data(), DType::float32, {kElements}),
                   TensorView::contiguous(out.data(), DType::float32, {kElements}), 0)
      .status();
}

}  // namespace

void add_call_faults(std::vector<FaultCase>& cases) {
  using diag::FaultKind;
  cases.push_back({.name = "never_entered",
                   .kind = FaultKind::rank_not_entered,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     if (!site.is_culprit(comm)) return reduce_once(comm.channel(), kElements);
                     site.idle();
                     return Status();
                   }});
  cases.push_back({.name = "late",
                   .kind = FaultKind::rank_not_entered,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     if (site.is_culprit(comm)) compute_for(4 * site.deadline);
                     return gather_once(comm.channel(), kElements);
                   }});
  cases.push_back(
      {.name = "op", .kind = FaultKind::op_mismatch, .body = [](Communicator& comm, const FaultSite& site) {
         return site.is_culprit(comm) ? broadcast_once(comm.channel())
                                      : reduce_once(comm.channel(), kElements);
       }});
  cases.push_back({.name = "size",
                   .kind = FaultKind::size_mismatch,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     return reduce_once(comm.channel(), kElements + (site.is_culprit(comm) ? 1 : 0));
                   }});
  cases.push_back({.name = "type",
                   .kind = FaultKind::dtype_mismatch,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     return gather_once(comm.channel(), kElements,
                                        site.is_culprit(comm) ? DType::float16 : DType::bfloat16);
                   }});
  cases.push_back({.name = "reduce_op",
                   .kind = FaultKind::op_mismatch,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     return reduce_once(comm.channel(), kElements, DType::float32,
                                        site.is_culprit(comm) ? ReduceOp::max : ReduceOp::sum);
                   }});
}

}  // namespace ringcomm::test
