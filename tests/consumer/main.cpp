// SPDX-License-Identifier: Apache-2.0
// Links the installed library and calls into each room, so that a missing symbol or header shows.
#include <cstdio>
#include <ringcomm/ringcomm.hpp>

namespace rc = ringcomm;

int main() {
  rc::check(rc::run_threads(3, [](rc::Communicator& comm) -> rc::Status {
    const rc::AttentionSpec spec{
        .tokens = 100, .q_heads = 2, .kv_heads = 1, .head_dim = 64, .dtype = rc::DType::float32};
    auto ring = rc::check(rc::RingAttention::create(comm, spec));
    for (rc::TensorView view : {ring.q(), ring.k(), ring.v()}) {
      for (std::int64_t i = 0; i < view.element_count(); ++i) static_cast<float*>(view.data)[i] = 1.0F;
    }
    if (rc::Status status = ring.forward(); !status.is_ok()) return status;
    const float first = static_cast<const float*>(ring.out().data)[0];
    if (first < 0.999F || first > 1.001F) return rc::Status::internal("the mean of ones is not one");
    return rc::barrier(comm.channel()).status();
  }));
  std::printf("consumer of ringcomm %s: ok\n", RINGCOMM_VERSION);
}
