// SPDX-License-Identifier: Apache-2.0
// 8 threads as TP 2 x CP 4: prints the groups, turns KV blocks round every CP ring, and merges softmax
// partials over every TP pair.
#include <cmath>
#include <cstdio>
#include <ringcomm/ringcomm.hpp>

namespace rc = ringcomm;

constexpr int kRanks = 8;
constexpr std::int64_t kRows = 4, kDim = 8;

rc::Status expect(bool holds, const char* what) { return holds ? rc::Status() : rc::Status::internal(what); }

/// Every rank's block holds its own number: at step t a rank reads its t-th predecessor's in the ring.
rc::Status rotate(rc::Communicator& comm, rc::Channel& ring) {
  auto window = rc::check(comm.allocate(2 * kRows * kDim * sizeof(float)));
  float* const block = window.span<float>().data();
  for (std::int64_t i = 0; i < 2 * kRows * kDim; ++i) block[i] = static_cast<float>(comm.rank());
  const auto k = rc::TensorView::contiguous(block, rc::DType::float32, {kRows, 1, kDim});
  const auto v = rc::TensorView::contiguous(block + kRows * kDim, rc::DType::float32, {kRows, 1, kDim});
  auto rotation = rc::check(rc::RingRotation::create(ring, k, v));
  rc::check(rotation.start());
  while (rc::RotationStep step = rotation.next()) {
    const auto* seen = static_cast<const float*>(step.parts()[0].k.data);
    if (auto ok = expect(*seen == static_cast<float>(ring.member(step.source())), "a stranger's block");
        !ok.is_ok())
      return ok;
  }
  return rotation.status();
}

/// Both ranks of a pair saw the same weight of keys, with values `rank`: the merge is the mean.
rc::Status merge(rc::Communicator& comm, rc::Channel& pair) {
  auto window = rc::check(comm.allocate(rc::SoftmaxPartial::bytes_needed(kRows, kDim)));
  auto partial = rc::check(rc::SoftmaxPartial::in(window, kRows, kDim));
  auto* out = static_cast<float*>(partial.out.data);
  auto* lse = static_cast<float*>(partial.statistic.data);
  for (std::int64_t i = 0; i < kRows * kDim; ++i) out[i] = static_cast<float>(comm.rank());
  for (std::int64_t row = 0; row < kRows; ++row) lse[row] = 1.0F;
  rc::check(rc::softmax_all_reduce(pair, partial, partial).status());
  const float mean = 0.5F * static_cast<float>(pair.member(0) + pair.member(1));
  return expect(std::fabs(out[0] - mean) < 1e-6F && std::fabs(lse[0] - 1.0F - std::log(2.0F)) < 1e-6F,
                "the merge is wrong");
}

int main() {
  const auto grid = rc::check(rc::ParallelGrid::create({.tp = 2, .cp = 4}, kRanks));
  std::printf("%s", grid.to_text().c_str());
  const int hosts[kRanks] = {0, 0, 0, 0, 1, 1, 1, 1};
  std::printf("%s", rc::check(rc::check_placement(grid, hosts)).to_text().c_str());
  rc::check(rc::run_threads(kRanks, [&](rc::Communicator& comm) -> rc::Status {
    // The same kinds in the same order on every rank.
    rc::Channel* const tp = rc::check(grid.open(comm, rc::ParallelKind::tp, {.priority = 1}));
    rc::Channel* const cp = rc::check(grid.open(comm, rc::ParallelKind::cp, {.chunk_bytes = 1 << 20}));
    if (rc::Status turned = rotate(comm, *cp); !turned.is_ok()) return turned;
    return merge(comm, *tp);
  }));
  std::printf("4 steps on %zu CP rings, 1 merge on %zu TP pairs: correct\n",
              grid.groups(rc::ParallelKind::cp).size(), grid.groups(rc::ParallelKind::tp).size());
}
