// SPDX-License-Identifier: Apache-2.0
// Slots that are written too early, and ranks with other plans or another idea of the group.
#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "core/try.hpp"
#include "faults/made/fault_case.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "support/wrapping_transport.hpp"

namespace ringcomm::test {
namespace {

using namespace std::chrono_literals;

/// Does not wait for its readers: a reclaim is left out on the culprit.
class NoReclaim {
 public:
  explicit NoReclaim(int culprit) : culprit_(culprit) {}
  void connected(Transport&, int rank) { is_mine_ = rank == culprit_; }
  Status run(TransportChannel& inner, std::span<const TransportOp> batch, StreamView stream,
             Deadline deadline) {
    if (!is_mine_) return inner.submit(batch, stream, deadline);
    kept_.clear();
    std::copy_if(batch.begin(), batch.end(), std::back_inserter(kept_),
                 [](const TransportOp& op) { return op.kind != TransportOpKind::reclaim; });
    return kept_.empty() ? Status() : inner.submit(kept_, stream, deadline);
  }

 private:
  int culprit_;
  bool is_mine_ = false;
  std::vector<TransportOp> kept_;
};

std::vector<TransportFactory> without_reclaim(Medium medium, const FaultSite& site) {
  const TransportFactory inner = medium == Medium::threads ? inproc_transport() : shm_transport();
  return {[inner, culprit = site.culprit]() -> std::unique_ptr<Transport> {
    return std::make_unique<testing_support::WrappingTransport<NoReclaim>>(
        inner(), std::make_shared<NoReclaim>(culprit));
  }};
}

/// Readers take their time with each block; the owner does not wait for them.
Status read_slowly(Communicator& comm, const FaultSite& site) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  RotationOptions options;
  options.mode = RotationChoice::direct;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int round = 0; round < 3; ++round) {
    fill_block(block, comm.rank(), round);
    RINGCOMM_TRY(rotation.start());
    while (RotationStep step = rotation.next()) {
      if (!site.is_culprit(comm)) std::this_thread::sleep_for(20ms);
    }
    RINGCOMM_TRY(rotation.status());
  }
  return {};
}

Status rotate_with(Communicator& comm, const RotationOptions& options) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  return rotation.run([](RotationStep& step) { step.release(); });
}

Status other_mode(Communicator& comm, const FaultSite& site) {
  RotationOptions options;
  options.mode = site.is_culprit(comm) ? RotationChoice::relay : RotationChoice::direct;
  return rotate_with(comm, options);
}
Status other_mask(Communicator& comm, const FaultSite& site) {
  RotationOptions options;
  const auto ranks = static_cast<std::size_t>(comm.size());
  options.needed.assign(ranks * ranks, 1);
  if (site.is_culprit(comm)) options.needed[ranks - 1] = 0;
  return rotate_with(comm, options);
}
Status other_order(Communicator& comm, const FaultSite& site) {
  RotationOptions options;
  options.order.resize(static_cast<std::size_t>(comm.size()));
  std::iota(options.order.begin(), options.order.end(), 0);
  if (site.is_culprit(comm)) std::swap(options.order[1], options.order[2]);
  return rotate_with(comm, options);
}

}  // namespace

void add_plan_faults(std::vector<FaultCase>& cases) {
  using diag::FaultKind;
  cases.push_back({.name = "slot_reuse",
                   .kind = FaultKind::slot_reuse,
                   .body = read_slowly,
                   .transports = without_reclaim});
  cases.push_back({.name = "plan_mode", .kind = FaultKind::plan_mismatch, .body = other_mode});
  cases.push_back({.name = "plan_mask", .kind = FaultKind::plan_mismatch, .body = other_mask});
  cases.push_back({.name = "ring_order", .kind = FaultKind::plan_mismatch, .body = other_order});
}

}  // namespace ringcomm::test
