// SPDX-License-Identifier: Apache-2.0
// One path through every room, for builds that run little else: attention of ones is ones, whatever the
// ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "ringcomm/ringcomm.hpp"

namespace ringcomm {
namespace {

Status attend(Communicator& comm) {
  auto ring = RingAttention::create(
      comm, {.tokens = 101, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .dtype = DType::float32});
  if (!ring.is_ok()) return ring.status();
  for (const TensorView& view : {ring->q(), ring->k(), ring->v()}) {
    for (std::int64_t i = 0; i < view.element_count(); ++i) static_cast<float*>(view.data)[i] = 1.0F;
  }
  if (Status status = ring->forward(); !status.is_ok()) return status;
  const TensorView out = ring->out();
  for (std::int64_t i = 0; i < out.element_count(); ++i) {
    if (std::abs(static_cast<const float*>(out.data)[i] - 1.0F) > 1e-5F)
      return Status::internal("the mean of ones is not one");
  }
  return barrier(comm.channel()).status();
}

TEST(SmokeTest, ThreadsAttend) {
  for (const int ranks : {1, 2, 3}) EXPECT_EQ(run_threads(ranks, attend).to_string(), "ok");
}

TEST(SmokeTest, ProcessesAttend) { EXPECT_EQ(run_processes(3, attend).to_string(), "ok"); }

}  // namespace
}  // namespace ringcomm
