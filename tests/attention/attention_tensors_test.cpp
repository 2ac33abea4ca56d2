// SPDX-License-Identifier: Apache-2.0
// Own tensors: the oracle is the bits that the object's own tensors give.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "attention/attention_plan.hpp"
#include "attention/ring_harness.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using test::bits_of;
using test::fill_all;
using test::spec_of;

class AttentionTensorsTest : public testing::TestWithParam<AttentionStrategy> {};

/// Gaps of a caller's q, k, v and out.
struct Strides {
  test::Gaps q{}, k{}, v{}, out{};
  std::int64_t lse_row = 0;
};
constexpr Strides kStrided{.q = {.row = 8, .head = 4},
                           .k = {.row = 16},
                           .v = {.row = 3, .head = 5},
                           .out = {.row = 7},
                           .lse_row = 3};
constexpr Strides kContiguousButApart{};

/// A caller's private tensors.
struct OwnedTensors {
  OwnedTensors(const RingAttention& ring, const test::Inputs& inputs, const Strides& strides)
      : rows(ring.q().shape[0]),
        q(ring.spec().dtype, rows, 4, 64, strides.q),
        k(ring.spec().dtype, rows, 2, 64, strides.k),
        v(ring.spec().dtype, rows, 2, 64, strides.v),
        out(ring.spec().dtype, rows, 4, 64, strides.out),
        lse_memory(static_cast<std::size_t>(4 * (rows + strides.lse_row))),
        lse(TensorView::contiguous(lse_memory.data(), DType::float32, {4, rows})) {
    lse.strides[0] = rows + strides.lse_row;
    test::fill_rows(q.view(), ring.positions(), inputs.q);
    test::fill_rows(k.view(), ring.positions(), inputs.k);
    test::fill_rows(v.view(), ring.positions(), inputs.v);
  }
  Status forward(RingAttention& ring) const {
    return ring.forward(q.view(), k.view(), v.view(), out.view(), lse);
  }
  std::string bits() const {
    test::HostTensor plain_out(out.view().dtype, rows, 4, 64);
    std::vector<float> plain_lse;
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t row = 0; row < rows; ++row) {
        plain_lse.push_back(lse_memory[static_cast<std::size_t>(head * lse.strides[0] + row)]);
        for (std::int64_t d = 0; d < 64; ++d)
          plain_out.set(row, head, d, static_cast<float>(test::element(out.view(), row, head, d)));
      }
    }
    return bits_of(plain_out.view(), TensorView::contiguous(plain_lse.data(), DType::float32, {4, rows}));
  }

  std::int64_t rows;
  test::HostTensor q, k, v, out;
  std::vector<float> lse_memory;
  TensorView lse;
};

TEST_P(AttentionTensorsTest, OwnTensorsGiveTheBitsOfTheWindowAndArePackedOncePerCall) {
  AttentionSpec spec = spec_of(43);
  spec.strategy = GetParam();
  const test::Inputs inputs = test::noise_inputs();
  std::atomic<int> equal{0};
  const auto body = [&](Communicator& comm) -> Status {
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    RINGCOMM_TRY(ring.status());
    fill_all(ring.value(), inputs);
    RINGCOMM_TRY(ring->forward());
    const std::string expected = bits_of(ring->out(), ring->lse());
    for (const Strides& strides : {kStrided, kContiguousButApart}) {
      const OwnedTensors own(ring.value(), inputs, strides);
      const std::uint64_t packed_before = comm.counters().bytes_packed;
      for (int round = 0; round < 2; ++round) RINGCOMM_TRY(own.forward(ring.value()));
      EXPECT_EQ(comm.counters().bytes_packed - packed_before, 2 * attention::kv_bytes(spec, own.rows));
      equal += own.bits() == expected ? 1 : 0;
      // And back to the window: the binding follows the tensors.
      std::memset(ring->out().data, 0xFF, ring->out().bytes());
      RINGCOMM_TRY(ring->forward());
      equal += bits_of(ring->out(), ring->lse()) == expected ? 1 : 0;
    }
    return {};
  };
  const Status status = run_threads(3, body, test::small_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(equal.load(), 12);
}

std::string strategy_name(const testing::TestParamInfo<AttentionStrategy>& tested) {
  constexpr const char* kNames[] = {"automatic", "direct", "relay", "gather"};
  return kNames[static_cast<int>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(Strategies, AttentionTensorsTest,
                         testing::Values(AttentionStrategy::ring_direct, AttentionStrategy::ring_relay,
                                         AttentionStrategy::all_gather),
                         strategy_name);

TEST(AttentionTensorsRefusalTest, RefusesOwnTensorsOfAnotherShapeByNameAndValue) {
  const auto body = [&](Communicator& comm) -> Status {
    AttentionSpec spec = spec_of(10);
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    RINGCOMM_TRY(ring.status());
    const auto refuse = [&](TensorView q, TensorView k, TensorView lse, StatusCode code,
                            std::string_view text) {
      const Status status = ring->forward(q, k, ring->v(), ring->out(), lse);
      EXPECT_EQ(status.code(), code);
      EXPECT_EQ(status.message(), text);
    };
    TensorView wrong = ring->q();
    wrong.shape[1] = 3;
    refuse(wrong, ring->k(), ring->lse(), StatusCode::invalid_argument,
           "q has extent 3 on axis 1 (ring attention was created for 4)");
    wrong = ring->k();
    wrong.dtype = DType::float16;
    refuse(ring->q(), wrong, ring->lse(), StatusCode::invalid_argument,
           "k is float16 (ring attention was created for bfloat16)");
    wrong = ring->k();
    wrong.strides[2] = 2;
    refuse(ring->q(), wrong, ring->lse(), StatusCode::invalid_argument,
           "k has stride 2 on its last axis (it must be contiguous there)");
    wrong = ring->lse();
    wrong.axes = 1;
    refuse(ring->q(), ring->k(), wrong, StatusCode::invalid_argument,
           "lse has 1 axes (ring attention needs 2)");
    wrong = ring->q();
    wrong.device.kind = DeviceKind::cuda;
    refuse(wrong, ring->k(), ring->lse(), StatusCode::not_available,
           "q is not in host memory (no other device is supported)");
    return ring->forward();  // nothing was changed
  };
  const Status status = run_threads(1, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
