// SPDX-License-Identifier: Apache-2.0
// Calls in another order, messages without their other half, rings that turn a different number of steps.
#include <numeric>

#include "core/try.hpp"
#include "faults/made/fault_case.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::test {
namespace {

std::vector<int> all_ranks(const Communicator& comm) {
  std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Status in_own_order(Channel& first, Channel& second, bool is_inverted) {
  Channel& a = is_inverted ? second : first;
  Channel& b = is_inverted ? first : second;
  RINGCOMM_TRY(reduce_once(a, 64));
  return gather_once(b, 64);
}

Status invert_channels(Communicator& comm, const FaultSite& site) {
  RINGCOMM_TRY_ASSIGN(Channel* const tp, comm.open_channel(all_ranks(comm), 1));
  RINGCOMM_TRY_ASSIGN(Channel* const cp, comm.open_channel(all_ranks(comm), 2));
  return in_own_order(*tp, *cp, site.is_culprit(comm));
}

Status invert_splits(Communicator& comm, const FaultSite& site) {
  RINGCOMM_TRY_ASSIGN(auto tp, comm.split(0, comm.rank()));
  RINGCOMM_TRY_ASSIGN(auto cp, comm.split(0, comm.rank()));
  const Status status = in_own_order(tp->channel(), cp->channel(), site.is_culprit(comm));
  site.keep(std::move(*tp));  // the groups stay while the records are read
  site.keep(std::move(*cp));
  return status;
}

/// A loop that is shorter than the ring: its rotation is destroyed before the last step.
Status leave_ring(Communicator& comm, const FaultSite& site) {
  {
    RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
    RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
    RINGCOMM_TRY(rotation.start());
    int steps = 0;
    while (RotationStep step = rotation.next()) {
      step.release();
      if (site.is_culprit(comm) && ++steps == site.step) break;
    }
    if (!site.is_culprit(comm)) return rotation.status();
  }
  site.idle();
  return {};
}

/// The culprit's successor gets a message that it never receives; the culprit is who does not receive.
Status send_to_nobody(Communicator& comm, const FaultSite& site) {
  if (comm.rank() == (site.culprit + 1) % comm.size()) {
    std::vector<float> data(64);
    RINGCOMM_TRY(send(comm.channel(), TensorView::contiguous(data.data(), DType::float32, {64}), site.culprit)
                     .status());
  }
  if (site.is_culprit(comm)) site.idle();
  return {};
}

Status receive_from_nobody(Communicator& comm, const FaultSite& site) {
  if (comm.rank() == (site.culprit + 1) % comm.size()) {
    std::vector<float> data(64);
    RINGCOMM_TRY(
        receive(comm.channel(), TensorView::contiguous(data.data(), DType::float32, {64}), site.culprit)
            .status());
  }
  if (site.is_culprit(comm)) site.idle();
  return {};
}

}  // namespace

void add_order_faults(std::vector<FaultCase>& cases) {
  using diag::FaultKind;
  cases.push_back({.name = "order_of_channels",
                   .kind = FaultKind::order_inversion,
                   .named = Named::in_a_circle,
                   .body = invert_channels});
  cases.push_back({.name = "order_of_splits",
                   .kind = FaultKind::order_inversion,
                   .named = Named::in_a_circle,
                   .body = invert_splits});
  cases.push_back({.name = "ring_steps", .kind = FaultKind::ring_step_mismatch, .body = leave_ring});
  cases.push_back({.name = "send_unmatched", .kind = FaultKind::p2p_unmatched, .body = send_to_nobody});
  cases.push_back({.name = "recv_unmatched", .kind = FaultKind::p2p_unmatched, .body = receive_from_nobody});
}

}  // namespace ringcomm::test
