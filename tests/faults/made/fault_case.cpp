// SPDX-License-Identifier: Apache-2.0
#include "faults/made/fault_case.hpp"

#include <thread>

#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/reduce.hpp"

namespace ringcomm::test {

void FaultSite::idle() const {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < end && (is_over == nullptr || !is_over->load()))
    std::this_thread::sleep_for(5ms);
}

namespace {

thread_local std::vector<Communicator> kept;

}  // namespace

void FaultSite::keep(Communicator comm) const { kept.push_back(std::move(comm)); }
void FaultSite::drop_kept() { kept.clear(); }

std::vector<FaultCase> fault_cases() {
  std::vector<FaultCase> cases;
  add_call_faults(cases);
  add_order_faults(cases);
  add_process_faults(cases);
  add_plan_faults(cases);
  return cases;
}

FaultSite draw_site(const FaultCase& fault, std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  FaultSite site;
  site.ranks = fault.ranks_min + below(3);
  site.culprit = seed % 4 == 0 ? 0 : below(site.ranks);
  site.rounds = 1 + below(4);
  site.step = 1 + below(site.ranks - 1);
  return site;
}

Status reduce_once(Channel& channel, std::int64_t elements, DType dtype, ReduceOp op,
                   std::chrono::milliseconds deadline) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * bytes_of(dtype);
  std::vector<std::byte> in(bytes), out(bytes);
  return all_reduce(channel, TensorView::contiguous(in.data(), dtype, {elements}),
                    TensorView::contiguous(out.data(), dtype, {elements}), op, {.deadline = deadline})
      .status();
}

Status gather_once(Channel& channel, std::int64_t elements, DType dtype) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * bytes_of(dtype);
  std::vector<std::byte> in(bytes), out(bytes * static_cast<std::size_t>(channel.size()));
  return all_gather(channel, TensorView::contiguous(in.data(), dtype, {elements}),
                    TensorView::contiguous(out.data(), dtype, {elements * channel.size()}))
      .status();
}

Status healthy_round(Communicator& comm, int round) {
  constexpr std::chrono::seconds kPatient{20};
  RINGCOMM_TRY(barrier(comm.channel(), {.deadline = kPatient}).status());
  RINGCOMM_TRY(reduce_once(comm.channel(), 96 + round, DType::float32, ReduceOp::sum, kPatient));
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  RotationOptions options;
  options.deadline = kPatient;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  return rotate_checked(comm, block, rotation, round);
}

}  // namespace ringcomm::test
