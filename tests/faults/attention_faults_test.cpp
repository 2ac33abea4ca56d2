// SPDX-License-Identifier: Apache-2.0
// Ring attention under the same faults as the rotation below it: specs that differ, ranks that die or stop in
// the middle of a forward, a limit on one rank, a fork. Oracle: golden messages.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr int kRanks = 3;
constexpr int kOdd = 1;
constexpr AttentionSpec kSpec{
    .tokens = 96, .q_heads = 2, .kv_heads = 1, .head_dim = 64, .dtype = DType::float32};

void fill(const RingAttention& ring) {
  for (const TensorView& view : {ring.q(), ring.k(), ring.v()}) {
    auto* const data = static_cast<float*>(view.data);
    for (std::int64_t i = 0; i < view.element_count(); ++i) data[i] = static_cast<float>(i % 7) * 0.125F;
  }
}

Status create_only(Communicator& comm, const AttentionSpec& spec) {
  return RingAttention::create(comm, spec).status();
}

class AttentionFaultsTest : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Media, AttentionFaultsTest, testing::Values(Medium::threads, Medium::processes),
                         [](const auto& tested) { return name_of(tested.param); });

struct OddSpec {
  std::string message;
  std::function<void(AttentionSpec&)> change;
};

TEST_P(AttentionFaultsTest, SpecsThatDifferAreNamedOnAllRanksAndTheCommunicatorWorksOn) {
  const std::vector<OddSpec> table = {
      {"tokens is 96 on rank 0 and 97 on rank 1", [](AttentionSpec& s) { s.tokens = 97; }},
      {"q_heads is 2 on rank 0 and 4 on rank 1", [](AttentionSpec& s) { s.q_heads = 4; }},
      {"head_dim is 64 on rank 0 and 128 on rank 1", [](AttentionSpec& s) { s.head_dim = 128; }},
      {"dtype is float32 on rank 0 and bfloat16 on rank 1",
       [](AttentionSpec& s) { s.dtype = DType::bfloat16; }},
      {"mask is causal on rank 0 and full on rank 1", [](AttentionSpec& s) { s.mask = Mask::full; }},
      {"layout is zigzag on rank 0 and contiguous on rank 1",
       [](AttentionSpec& s) { s.layout = Layout::contiguous; }},
  };
  const LeftBehind before;
  const auto all = outcomes(
      GetParam(), kRanks,
      [&](Communicator& comm) -> Status {
        for (const OddSpec& odd : table) {
          AttentionSpec spec = kSpec;
          if (comm.rank() == kOdd) odd.change(spec);
          const std::string said = create_only(comm, spec).to_string();
          const std::string expected = concat("mismatch: ring attention: ", odd.message,
                                              " (all ranks must pass the same AttentionSpec)");
          if (said != expected) return Status::internal(concat("expected ", expected, ", got ", said));
        }
        RINGCOMM_TRY_ASSIGN(auto ring, RingAttention::create(comm, kSpec));
        fill(ring);
        return ring.forward();
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said, "ok");
    EXPECT_EQ(rank.health, "ok");
    EXPECT_EQ(rank.left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

TEST_P(AttentionFaultsTest, SpecsThatCannotBeAreRefusedOnAllRanks) {
  const std::vector<OddSpec> table = {
      {"invalid_argument: attention over -1 tokens (0 to ", [](AttentionSpec& s) { s.tokens = -1; }},
      {"invalid_argument: attention over 9223372036854775807 tokens (0 to ",
       [](AttentionSpec& s) { s.tokens = std::numeric_limits<std::int64_t>::max(); }},
      {"invalid_argument: attention with 0 query and 1 KV heads (1 to ",
       [](AttentionSpec& s) { s.q_heads = 0; }},
      {"invalid_argument: 3 query heads are no multiple of 2 KV heads (each KV head serves as many query "
       "heads)",
       [](AttentionSpec& s) {
         s.q_heads = 3;
         s.kv_heads = 2;
       }},
      {"not_available: attention with head_dim 80 (kernels exist for ",
       [](AttentionSpec& s) { s.head_dim = 80; }},
      {"not_available: attention in int8 (kernels exist for float32, bfloat16 and float16)",
       [](AttentionSpec& s) { s.dtype = DType::int8; }},
      {"invalid_argument: attention with 0 workers (1 to ", [](AttentionSpec& s) { s.workers = 0; }},
      {"invalid_argument: attention deadline of -1 ms (0 means the communicator's)",
       [](AttentionSpec& s) { s.deadline = -1ms; }},
  };
  const auto all = outcomes(
      GetParam(), 2,
      [&](Communicator& comm) -> Status {
        for (const OddSpec& wrong : table) {
          AttentionSpec spec = kSpec;
          wrong.change(spec);
          const std::string said = create_only(comm, spec).to_string();
          if (!said.starts_with(wrong.message))
            return Status::internal(concat("expected ", wrong.message, ", got ", said));
        }
        return {};
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said, "ok");
    EXPECT_EQ(rank.health, "ok");
  }
}

TEST_P(AttentionFaultsTest, AWrongDeadlineOfOneRankIsRefusedThereAndToldToTheOthers) {
  const auto all = outcomes(
      GetParam(), kRanks,
      [](Communicator& comm) {
        AttentionSpec spec = kSpec;
        if (comm.rank() == kOdd) spec.deadline = -1ms;
        return create_only(comm, spec);
      },
      patient(10s));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank].said,
              rank == kOdd
                  ? "invalid_argument: attention deadline of -1 ms (0 means the communicator's)"
                  : "aborted: ring attention was not created, because rank 1 failed: invalid_argument (its "
                    "own message says why)");
    EXPECT_LT(all[rank].ms, 2000);
  }
}

TEST(AttentionTensorsFaultTest, TensorsOfWrongShapeAreRefusedAndTheForwardCanFollow) {
  const auto all = outcomes(
      Medium::threads, 2,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto ring, RingAttention::create(comm, kSpec));
        fill(ring);
        TensorView k = ring.k();
        k.shape[0] -= 1;
        TensorView out = ring.out();
        out.dtype = DType::bfloat16;
        const std::pair<Status, std::string> refused[] = {
            {ring.forward(ring.q(), k, ring.v(), ring.out(), ring.lse()),
             "invalid_argument: k has extent 47 on axis 0 (ring attention was created for 48)"},
            {ring.forward(ring.q(), ring.k(), ring.v(), out, ring.lse()),
             "invalid_argument: out is bfloat16 (ring attention was created for float32)"},
            {ring.forward(ring.q(), ring.k(), ring.v(), ring.out(), ring.q()),
             "invalid_argument: lse has 3 axes (ring attention needs 2)"}};
        for (const auto& [status, expected] : refused) {
          if (status.to_string() != expected)
            return Status::internal(concat("expected ", expected, ", got ", status.to_string()));
        }
        return ring.forward();
      },
      patient());
  for (const RankOutcome& rank : all) EXPECT_EQ(rank.said, "ok");
}

/// Processes in forwards for ever, which say "running" after some.
struct Running {
  explicit Running(AttentionStrategy strategy, std::chrono::milliseconds deadline) {
    auto made = ForkedMesh::create(kRanks);
    check(made.status());
    std::optional<ForkedMesh> mesh(std::move(made).value());
    processes.emplace(kRanks, [&](int rank, const RankVoice& voice) {
      return run_and_report(
          [&]() -> Result<Communicator> {
            RINGCOMM_TRY_ASSIGN(auto bootstrap, mesh->take(rank));
            return Communicator::create(std::move(bootstrap), patient(deadline));
          },
          [&](Communicator& comm) -> Status {
            AttentionSpec spec = kSpec;
            spec.strategy = strategy;
            RINGCOMM_TRY_ASSIGN(auto ring, RingAttention::create(comm, spec));
            fill(ring);
            for (int round = 0;; ++round) {
              RINGCOMM_TRY(ring.forward());
              if (round == 5) voice.say("running");
            }
          });
    });
    mesh.reset();
    for (int rank = 0; rank < kRanks; ++rank)
      is_running = is_running && processes->has_said(rank, "running", 30s);
  }
  bool is_running = true;
  std::optional<ProcessRanks> processes;
};

struct Death {
  AttentionStrategy strategy;
  int culprit;
};
class KilledInForwardTest : public testing::TestWithParam<Death> {};

TEST_P(KilledInForwardTest, IsNamedByAllOthersWithinASecond) {
  const LeftBehind before;
  const int culprit = GetParam().culprit;
  {
    Running ranks(GetParam().strategy, 60s);
    ASSERT_TRUE(ranks.is_running);
    ranks.processes->send_signal(culprit, SIGKILL);
    const std::int64_t killed_ns = now_ns();
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == culprit) continue;
      const RankOutcome got = parse_report(ranks.processes->wait(rank, 30s));
      EXPECT_EQ(
          got.said,
          concat("peer_lost: rank ", culprit,
                 " (pid P) died: its process ended without leaving the group, while rank R waited in OP"));
      EXPECT_EQ(got.health, got.said);
      EXPECT_EQ(got.left, "");
      EXPECT_LT((now_ns() - killed_ns) / 1'000'000, 1000) << "rank " << rank;
    }
    ranks.processes->wait(culprit, 5s);
  }
  EXPECT_EQ(before.differences(), "");
}

INSTANTIATE_TEST_SUITE_P(Strategies, KilledInForwardTest,
                         testing::Values(Death{AttentionStrategy::ring_direct, 0},
                                         Death{AttentionStrategy::ring_relay, 2},
                                         Death{AttentionStrategy::all_gather, 1}),
                         [](const auto& tested) { return concat("case", tested.index); });

TEST(StoppedInForwardTest, IsNamedAtTheDeadline) {
  const LeftBehind before;
  {
    Running ranks(AttentionStrategy::ring_direct, 1200ms);
    ASSERT_TRUE(ranks.is_running);
    ranks.processes->send_signal(kOdd, SIGSTOP);
    for (const int rank : {0, 2}) {
      const RankOutcome got = parse_report(ranks.processes->wait(rank, 30s));
      // Where it was stopped is open; who it is is not.
      EXPECT_TRUE(got.said.starts_with("timeout: rank 1 did not ") ||
                  got.said.starts_with("timeout: rank 1 does not go on in ring_attention #"))
          << got.said;
      EXPECT_NE(got.said.find(" ms"), std::string::npos) << got.said;
      EXPECT_EQ(got.health, got.said);
      EXPECT_EQ(got.left, "");
    }
    ranks.processes->send_signal(kOdd, SIGKILL);
    ranks.processes->wait(kOdd, 5s);
  }
  EXPECT_EQ(before.differences(), "");
}

TEST(LimitedAttentionTest, AFileSizeLimitOnOneRankIsNamedToAll) {
  const LeftBehind before;
  const auto all = outcomes(
      Medium::processes, kRanks,
      [](Communicator& comm) {
        AttentionSpec spec = kSpec;
        spec.tokens = 8192 * kRanks;  // K and V of a rank: 8192 * 64 * 4 * 2 bytes
        if (comm.rank() == kOdd) {
          const rlimit limit{1 << 20, 1 << 20};
          setrlimit(RLIMIT_FSIZE, &limit);
        }
        return create_only(comm, spec);
      },
      patient());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank].said,
              rank == kOdd
                  ? "out_of_memory: ring attention on rank 1: segment \"ringcomm-window\" of 4 MiB does not "
                    "fit: RLIMIT_FSIZE is 1 MiB (a larger memfd raises SIGXFSZ). Raise it with ulimit -f"
                  : "aborted: ring attention was not created, because rank 1 failed: out_of_memory (its own "
                    "message says why)");
    EXPECT_LT(all[rank].ms, 2000);
    EXPECT_EQ(all[rank].left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

/// In the child: everything is refused, nothing hangs, everything can be destroyed.
[[noreturn]] void be_child(Communicator& comm, RingAttention& ring) {
  alarm(10);
  const std::string expected =
      "not_available: communicator used in a forked child: rank 1 of 3 belongs to the parent "
      "process (the child's copy is dead)";
  std::string wrong;
  for (const Status& status : {ring.forward(), create_only(comm, kSpec)}) {
    if (status.to_string() != expected) wrong += status.to_string() + "\n";
  }
  // Needs no peer and no thread that the child lacks; it may run, it may not hang.
  if (!ring.rehearse().is_ok()) wrong += "rehearse\n";
  { const RingAttention gone(std::move(ring)); }
  { const Communicator gone(std::move(comm)); }
  if (!wrong.empty()) std::fprintf(stderr, "forked child: %s", wrong.c_str());
  _exit(wrong.empty() ? 0 : 1);
}

class ForkedAttentionTest : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Media, ForkedAttentionTest, testing::ValuesIn(media_that_may_fork()),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(ForkedAttentionTest, TheChildIsRefusedAndHarmsNobody) {
  const LeftBehind before;
  const auto all = outcomes(
      GetParam(), kRanks,
      [](Communicator& comm) -> Status {
        AttentionSpec spec = kSpec;
        spec.workers = 2;
        RINGCOMM_TRY_ASSIGN(auto ring, RingAttention::create(comm, spec));
        fill(ring);
        RINGCOMM_TRY(ring.forward());
        if (comm.rank() == kOdd) {
          std::fflush(nullptr);
          const pid_t pid = fork();
          if (pid == 0) be_child(comm, ring);
          int status = 0;
          if (waitpid(pid, &status, 0) != pid || status != 0)
            return Status::internal(concat("the child ended with wait status ", status));
        }
        const TensorView out = ring.out();
        const std::vector<float> first(static_cast<float*>(out.data),
                                       static_cast<float*>(out.data) + out.element_count());
        RINGCOMM_TRY(ring.forward());
        const bool is_same = std::equal(first.begin(), first.end(), static_cast<float*>(out.data));
        return is_same ? Status() : Status::internal("the second forward gave another result");
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said, "ok");
    EXPECT_EQ(rank.health, "ok");
    EXPECT_EQ(rank.left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

}  // namespace
}  // namespace ringcomm
