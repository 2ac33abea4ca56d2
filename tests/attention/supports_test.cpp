// SPDX-License-Identifier: Apache-2.0
// The oracle is the list of clauses: each refused value alone, with its whole sentence.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ringcomm/attention/ring_attention.hpp"

namespace ringcomm {
namespace {

AttentionSpec sound_spec() {
  AttentionSpec spec;
  spec.tokens = 100;
  spec.q_heads = 4;
  spec.kv_heads = 2;
  return spec;
}

void expect_refused(StatusCode code, std::string_view sentence,
                    const std::function<void(AttentionSpec&)>& change) {
  AttentionSpec spec = sound_spec();
  change(spec);
  const Status status = RingAttention::supports(spec, 4);
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_EQ(status.message(), sentence);
}

TEST(SupportsTest, AcceptsEverySoundCombination) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const std::int64_t tokens : {0, 1, 2999}) {
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        for (const int head_dim : {32, 64, 96, 128, 192, 256}) {
          AttentionSpec spec = sound_spec();
          spec.tokens = tokens;
          spec.dtype = dtype;
          spec.head_dim = head_dim;
          EXPECT_TRUE(RingAttention::supports(spec, ranks).is_ok());
        }
      }
    }
  }
}

TEST(SupportsTest, RefusesWrongSizes) {
  const auto code = StatusCode::invalid_argument;
  expect_refused(code, "attention over -1 tokens (0 to 2147483648 are possible)",
                 [](AttentionSpec& s) { s.tokens = -1; });
  expect_refused(code, "attention over 4611686018427387904 tokens (0 to 2147483648 are possible)",
                 [](AttentionSpec& s) { s.tokens = std::int64_t{1} << 62; });
  expect_refused(code, "attention with 0 query and 2 KV heads (1 to 65536 are possible)",
                 [](AttentionSpec& s) { s.q_heads = 0; });
  expect_refused(code, "attention with 4 query and -2 KV heads (1 to 65536 are possible)",
                 [](AttentionSpec& s) { s.kv_heads = -2; });
  expect_refused(code,
                 "4 query heads are no multiple of 3 KV heads (each KV head serves as many query heads)",
                 [](AttentionSpec& s) { s.kv_heads = 3; });
  expect_refused(code, "attention with 0 workers (1 to 1024 are possible)",
                 [](AttentionSpec& s) { s.workers = 0; });
  expect_refused(code, "attention deadline of -5 ms (0 means the communicator's)",
                 [](AttentionSpec& s) { s.deadline = std::chrono::milliseconds(-5); });
  expect_refused(code, "attention scale -1 (a positive number, or 0 for 1/sqrt(head_dim))",
                 [](AttentionSpec& s) { s.scale = -1; });
  AttentionSpec spec = sound_spec();
  spec.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(RingAttention::supports(spec, 4).code(), code);
  EXPECT_EQ(RingAttention::supports(sound_spec(), 0).code(), code);
}

TEST(SupportsTest, RefusesWhatNoKernelComputes) {
  const auto code = StatusCode::not_available;
  expect_refused(code, "attention with head_dim 80 (kernels exist for 32, 64, 96, 128, 192 and 256)",
                 [](AttentionSpec& s) { s.head_dim = 80; });
  expect_refused(code, "attention in float64 (kernels exist for float32, bfloat16 and float16)",
                 [](AttentionSpec& s) { s.dtype = DType::float64; });
  expect_refused(code, "attention in dtype 99 (kernels exist for float32, bfloat16 and float16)",
                 [](AttentionSpec& s) { s.dtype = static_cast<DType>(99); });
}

TEST(SupportsTest, RefusesOptionsThatTheStrategyWouldIgnore) {
  const auto code = StatusCode::not_available;
  expect_refused(code, "chunk_bytes 64 with strategy automatic (only ring_relay cuts its messages)",
                 [](AttentionSpec& s) { s.chunk_bytes = 64; });
  expect_refused(code, "overlap off with strategy ring_direct (only ring_relay copies between steps)",
                 [](AttentionSpec& s) {
                   s.strategy = AttentionStrategy::ring_direct;
                   s.overlap = plan::Overlap::off;
                 });
  expect_refused(code, "strategy ring_relay with replicated queries (nothing rotates then; use automatic)",
                 [](AttentionSpec& s) {
                   s.strategy = AttentionStrategy::ring_relay;
                   s.queries = QueryPlacement::replicated;
                 });
}

TEST(SupportsTest, RefusesUnknownEnumerators) {
  const auto code = StatusCode::invalid_argument;
  expect_refused(code, "attention mask number 9 (unknown)",
                 [](AttentionSpec& s) { s.mask = static_cast<Mask>(9); });
  expect_refused(code, "attention layout number 9 (unknown)",
                 [](AttentionSpec& s) { s.layout = static_cast<Layout>(9); });
  expect_refused(code, "attention strategy number 9 (unknown)",
                 [](AttentionSpec& s) { s.strategy = static_cast<AttentionStrategy>(9); });
  expect_refused(code, "attention query placement number 9 (unknown)",
                 [](AttentionSpec& s) { s.queries = static_cast<QueryPlacement>(9); });
  expect_refused(code, "attention overlap number 9 (unknown)",
                 [](AttentionSpec& s) { s.overlap = static_cast<plan::Overlap>(9); });
}

}  // namespace
}  // namespace ringcomm
