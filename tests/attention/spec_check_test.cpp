// SPDX-License-Identifier: Apache-2.0
// Ranks that do not mean the same: the oracle is the sentence that every rank must get.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "attention/ring_harness.hpp"

namespace ringcomm {
namespace {

AttentionSpec sound_spec() {
  AttentionSpec spec;
  spec.tokens = 20;
  spec.q_heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 64;
  return spec;
}

/// Creates on `ranks` ranks, `odd` of which has a changed spec; then all create the sound one, which must
/// work.
std::vector<std::string> messages_of(int ranks, int odd, const std::function<void(AttentionSpec&)>& change) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  const auto body = [&](Communicator& comm) -> Status {
    AttentionSpec spec = sound_spec();
    if (comm.rank() == odd || odd < 0) change(spec);
    messages[static_cast<std::size_t>(comm.rank())] = RingAttention::create(comm, spec).status().to_string();
    test::Outcome outcome(sound_spec(), ranks);
    return test::run_rank(comm, sound_spec(), test::noise_inputs(), outcome);
  };
  const Status status = run_threads(ranks, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return messages;
}

void expect_on_all(int odd, const std::string& sentence, const std::function<void(AttentionSpec&)>& change) {
  for (const std::string& message : messages_of(3, odd, change)) EXPECT_EQ(message, sentence);
}

std::string differs(const std::string& what) {
  return "mismatch: ring attention: " + what + " on rank 2 (all ranks must pass the same AttentionSpec)";
}

TEST(SpecCheckTest, EveryDifferingFieldIsNamedWithBothValuesOnAllRanks) {
  expect_on_all(2, differs("tokens is 20 on rank 0 and 21"), [](AttentionSpec& s) { s.tokens = 21; });
  expect_on_all(2, differs("q_heads is 2 on rank 0 and 4"), [](AttentionSpec& s) { s.q_heads = 4; });
  expect_on_all(2, differs("kv_heads is 1 on rank 0 and 2"), [](AttentionSpec& s) { s.kv_heads = 2; });
  expect_on_all(2, differs("head_dim is 64 on rank 0 and 128"), [](AttentionSpec& s) { s.head_dim = 128; });
  expect_on_all(2, differs("dtype is bfloat16 on rank 0 and float16"),
                [](AttentionSpec& s) { s.dtype = DType::float16; });
  expect_on_all(2, differs("mask is causal on rank 0 and full"),
                [](AttentionSpec& s) { s.mask = Mask::full; });
  expect_on_all(2, differs("layout is zigzag on rank 0 and contiguous"),
                [](AttentionSpec& s) { s.layout = Layout::contiguous; });
  expect_on_all(2, differs("strategy is automatic on rank 0 and ring_relay"), [](AttentionSpec& s) {
    s.strategy = AttentionStrategy::ring_relay;
    s.overlap = plan::Overlap::off;
  });
  expect_on_all(2, differs("queries is sharded on rank 0 and replicated"),
                [](AttentionSpec& s) { s.queries = QueryPlacement::replicated; });
  expect_on_all(2, differs("scale is 0 on rank 0 and 0.5"), [](AttentionSpec& s) { s.scale = 0.5F; });
  expect_on_all(2, differs("overlap is on on rank 0 and off"),
                [](AttentionSpec& s) { s.overlap = plan::Overlap::off; });
  expect_on_all(2, differs("chunk_bytes is 0 on rank 0 and 64"),
                [](AttentionSpec& s) { s.chunk_bytes = 64; });
}

TEST(SpecCheckTest, RankZeroMayBeTheOddOne) {
  expect_on_all(
      0,
      "mismatch: ring attention: tokens is 7 on rank 0 and 20 on rank 1 (all ranks must pass the same "
      "AttentionSpec)",
      [](AttentionSpec& s) { s.tokens = 7; });
}

TEST(SpecCheckTest, SpecThatIsWrongOnOneRankOnlyIsAMismatchOnAll) {
  expect_on_all(2, differs("head_dim is 64 on rank 0 and 65"), [](AttentionSpec& s) { s.head_dim = 65; });
  expect_on_all(2, differs("tokens is 20 on rank 0 and -1"), [](AttentionSpec& s) { s.tokens = -1; });
}

TEST(SpecCheckTest, SpecThatIsWrongOnAllRanksIsRefusedByItsClause) {
  expect_on_all(-1,
                "not_available: attention with head_dim 65 (kernels exist for 32, 64, 96, 128, 192 and 256)",
                [](AttentionSpec& s) { s.head_dim = 65; });
}

TEST(SpecCheckTest, FailureOfOneRankReleasesTheOthersAndNamesIt) {
  const std::vector<std::string> messages =
      messages_of(3, 1, [](AttentionSpec& s) { s.workers = 0; });  // may differ between ranks
  EXPECT_EQ(messages[1], "invalid_argument: attention with 0 workers (1 to 1024 are possible)");
  for (const int rank : {0, 2}) {
    EXPECT_EQ(messages[static_cast<std::size_t>(rank)],
              "aborted: ring attention was not created, because rank 1 failed: invalid_argument (its own "
              "message says why)");
  }
}

}  // namespace
}  // namespace ringcomm
