// SPDX-License-Identifier: Apache-2.0
// What a communicator's flight record holds, and when its file is there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "comm/record_file.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/call_site.hpp"
#include "ringcomm/core/text.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using diag::EntryKind;
using test::RecordBytes;

CommunicatorOptions small_options() {
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  options.deadline = std::chrono::seconds(30);
  options.record_entries = 256;
  return options;
}

Status expect(bool holds, const std::string& what) { return holds ? Status() : Status::internal(what); }

Status rotate(Communicator& comm, RotationChoice mode, plan::Overlap overlap) {
  std::vector<float> block(64, 1.0F);
  const auto k = TensorView::contiguous(block.data(), DType::float32, {1, 1, 32});
  const auto v = TensorView::contiguous(block.data() + 32, DType::float32, {1, 1, 32});
  RotationOptions options;
  options.mode = mode;
  options.overlap = overlap;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), k, v, options));
  return rotation.run([](const RotationStep&) {});
}

TEST(RecordingTest, TheFileLivesWithTheCommunicatorAndGoesWithIt) {
  std::vector<std::string> paths;
  {
    const auto made = Communicator::create_local(3, small_options()).value();
    for (const Communicator& comm : made) paths.push_back(comm.record_path());
    for (int rank = 0; rank < 3; ++rank) {
      const RecordBytes record(paths[static_cast<std::size_t>(rank)]);
      ASSERT_TRUE(record.is_whole()) << paths[static_cast<std::size_t>(rank)];
      EXPECT_EQ(record.header().rank, rank);
      EXPECT_EQ(record.header().size, 3);
      EXPECT_EQ(record.header().world_rank, rank);
      EXPECT_EQ(record.header().entry_capacity, 256U);
      EXPECT_EQ(std::string(record.header().transport), "inproc");
      EXPECT_EQ(record.header().job, RecordBytes(paths[0]).header().job);
      EXPECT_EQ(record.header().communicator, RecordBytes(paths[0]).header().communicator);
      EXPECT_EQ(record.header().window_bytes, 0U);
    }
    EXPECT_NE(RecordBytes(paths[0]).header().job, 0U);
  }
  for (const std::string& path : paths) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

/// The states of a rotation's messages on rank 0 of 3, in the order of the plan.
void expect_rotation(const RecordBytes& record, bool is_relay) {
  const auto incoming = record.entries(EntryKind::incoming);
  ASSERT_EQ(incoming.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const diag::RecordEntry& entry = incoming[i];
    EXPECT_EQ(entry.op, static_cast<std::uint16_t>(OpCode::ring_rotate));
    EXPECT_EQ(entry.sequence, 1U);
    EXPECT_EQ(entry.step, static_cast<std::int32_t>(i) + 1);
    EXPECT_EQ(entry.message.block, i == 0 ? 2 : 1);
    EXPECT_EQ(entry.message.peer, is_relay ? 2 : entry.message.block);
    EXPECT_EQ(entry.bytes, 256U);
    EXPECT_GE(entry.arrived, 1U);
    EXPECT_GE(entry.computed, entry.arrived);
    EXPECT_GE(entry.released, entry.computed);
    EXPECT_EQ(entry.code, 0);
  }
  const auto outgoing = record.entries(EntryKind::outgoing);
  ASSERT_EQ(outgoing.size(), 2U);
  for (const diag::RecordEntry& entry : outgoing) {
    EXPECT_GE(entry.released, 1U);
    EXPECT_EQ(entry.computed, 0U);
  }
  const auto operations = record.entries(EntryKind::operation);
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_GE(operations[0].released, 1U);
  EXPECT_EQ(record.name(operations[0].epoch), "layer 3");
  EXPECT_EQ(record.channel(0).posted, 1U);
  EXPECT_EQ(record.channel(0).completed, 1U);
  EXPECT_EQ(record.channel(0).waits_for, -1);
  EXPECT_GT(record.header().plans_used, 0U);
}

TEST(RecordingTest, ARotationsStatesAreThereInOrder) {
  struct Form {
    RotationChoice mode;
    plan::Overlap overlap;
  };
  for (const Form form :
       {Form{RotationChoice::direct, plan::Overlap::off}, Form{RotationChoice::relay, plan::Overlap::off},
        Form{RotationChoice::relay, plan::Overlap::on}}) {
    SCOPED_TRACE(concat("mode ", static_cast<int>(form.mode), " overlap ", static_cast<int>(form.overlap)));
    const Status status = run_threads(
        3,
        [&](Communicator& comm) -> Status {
          const CallSite site("layer 3");
          RINGCOMM_TRY(rotate(comm, form.mode, form.overlap));
          if (comm.rank() == 0)
            expect_rotation(RecordBytes(comm.record_path()), form.mode == RotationChoice::relay);
          return {};
        },
        small_options());
    EXPECT_EQ(status.to_string(), "ok");
  }
}

TEST(RecordingTest, ABlockThatWasReadIsComputedAlsoWhenItCannotBeGivenBack) {
  std::atomic<bool> is_reading{false}, has_aborted{false};
  const Status status = run_threads(
      2,
      [&](Communicator& comm) -> Status {
        std::vector<float> block(64, 1.0F);
        const auto k = TensorView::contiguous(block.data(), DType::float32, {1, 1, 32});
        const auto v = TensorView::contiguous(block.data() + 32, DType::float32, {1, 1, 32});
        RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), k, v));
        RINGCOMM_TRY(rotation.start());
        if (comm.rank() == 1) {
          const RotationStep own = rotation.next();  // offers this rank's block
          EXPECT_EQ(own.source(), 1);
          while (!is_reading) std::this_thread::yield();
          comm.abort("enough");
          has_aborted = true;
          return {};
        }
        while (const RotationStep step = rotation.next()) {
          if (step.source() == 0) continue;
          is_reading = true;
          while (!has_aborted) std::this_thread::yield();
        }
        EXPECT_EQ(rotation.status().code(), StatusCode::aborted);
        const auto incoming = RecordBytes(comm.record_path()).entries(EntryKind::incoming);
        RINGCOMM_TRY(expect(incoming.size() == 1, "incoming"));
        EXPECT_GE(incoming[0].arrived, 1U);
        EXPECT_GE(incoming[0].computed, incoming[0].arrived);
        EXPECT_EQ(incoming[0].released, 0U);
        return {};
      },
      small_options());
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(RecordingTest, CollectivesEnterAndLeaveAndReleaseWhatTheyGot) {
  const Status status = run_threads(
      4,
      [](Communicator& comm) -> Status {
        for (int i = 0; i < 3; ++i) RINGCOMM_TRY(barrier(comm.channel()).status());
        std::vector<float> all(4);
        std::vector<float> own(1);
        const auto input = TensorView::contiguous(own.data(), DType::float32, {1});
        const auto output = TensorView::contiguous(all.data(), DType::float32, {4});
        RINGCOMM_TRY(all_gather(comm.channel(), input, output).status());
        const RecordBytes record(comm.record_path());
        RINGCOMM_TRY(expect(record.channel(0).posted == 4 && record.channel(0).completed == 4, "counts"));
        RINGCOMM_TRY(expect(record.entries(EntryKind::operation).size() == 4, "operations"));
        RINGCOMM_TRY(expect(record.entries(EntryKind::incoming).size() == 12, "incoming"));
        for (const auto& entry : record.entries(EntryKind::incoming)) {
          RINGCOMM_TRY(expect(entry.arrived > 0 && entry.released > 0, "an arrival is open"));
          const bool is_gather = entry.op == static_cast<std::uint16_t>(OpCode::all_gather);
          RINGCOMM_TRY(expect((entry.computed > 0) == is_gather, "computed"));
        }
        for (const auto& entry : record.entries(EntryKind::outgoing))
          RINGCOMM_TRY(expect(entry.released > 0, "an offer is open"));
        return {};
      },
      small_options());
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(RecordingTest, MessagesBetweenPairsAreRecordedToo) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        std::vector<float> block(8);
        const auto tensor = TensorView::contiguous(block.data(), DType::float32, {8});
        const auto call =
            comm.rank() == 0 ? send(comm.channel(), tensor, 1) : receive(comm.channel(), tensor, 0);
        RINGCOMM_TRY(call.status());
        const RecordBytes record(comm.record_path());
        const bool is_sender = comm.rank() == 0;
        RINGCOMM_TRY(expect(record.entries(EntryKind::outgoing).size() == (is_sender ? 1U : 0U), "sends"));
        RINGCOMM_TRY(expect(record.entries(EntryKind::incoming).size() == (is_sender ? 0U : 1U), "receives"));
        const auto one = record.entries(is_sender ? EntryKind::outgoing : EntryKind::incoming).front();
        return expect(one.released > 0 && one.sequence == 1 && one.bytes == 32, "states");
      },
      small_options());
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(RecordingTest, ASplitKeepsJobAndWorldRank) {
  const Status status = run_threads(
      4,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto part, comm.split(comm.rank() % 2, -comm.rank()));
        RINGCOMM_TRY_ASSIGN(auto quarter, part->split(0, 0));
        const auto outer = RecordBytes(comm.record_path()).header();
        for (const Communicator* inner : {&*part, &*quarter}) {
          const auto header = RecordBytes(inner->record_path()).header();
          RINGCOMM_TRY(expect(header.job == outer.job, "job"));
          RINGCOMM_TRY(expect(header.communicator != outer.communicator, "communicator"));
          RINGCOMM_TRY(expect(header.world_rank == comm.rank() && header.world_size == 4, "world rank"));
          RINGCOMM_TRY(expect(header.rank == inner->rank() && header.size == 2, "rank"));
          RINGCOMM_TRY(expect(header.entry_capacity == 256, "entries"));
        }
        return {};
      },
      small_options());
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(RecordingTest, AFailedCommunicatorLeavesItsRecord) {
  std::string path;
  {
    auto made = Communicator::create_local(2, small_options()).value();
    path = made[1].record_path();
    made[1].abort("on purpose");
  }
  const RecordBytes record(path);
  ASSERT_TRUE(record.is_whole()) << path;
  EXPECT_EQ(record.header().state, static_cast<std::uint32_t>(diag::RecordState::failed));
  EXPECT_EQ(record.header().failure_code, static_cast<std::uint32_t>(StatusCode::aborted));
  EXPECT_EQ(record.header().failure_culprit, 1);
  EXPECT_EQ(record.name(record.header().failure_name), "rank 1 aborted: on purpose");
  std::filesystem::remove(path);
}

TEST(RecordingTest, AnExceptionKeepsTheRecord) {
  std::string path;
  try {
    const auto alone = Communicator::create_local(1, small_options()).value();
    path = alone[0].record_path();
    throw std::runtime_error("the trainer's own");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  std::filesystem::remove(path);
}

class RecordingEnvTest : public testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv("RINGCOMM_RECORD_DIR");
    ::unsetenv("RINGCOMM_RECORD_ENTRIES");
  }
};

TEST_F(RecordingEnvTest, CanBeSwitchedOffAndMoved) {
  ::setenv("RINGCOMM_RECORD_DIR", "off", 1);
  EXPECT_EQ(Communicator::create_local(1, small_options()).value()[0].record_path(), "");
  const test::TempDir folder;
  ::setenv("RINGCOMM_RECORD_DIR", folder.path().c_str(), 1);
  const auto made = Communicator::create_local(1, small_options()).value();
  EXPECT_EQ(std::filesystem::path(made[0].record_path()).parent_path(), folder.path());
}

TEST_F(RecordingEnvTest, TheNumberOfEntriesIsTheOptionsElseTheEnvironments) {
  ::setenv("RINGCOMM_RECORD_ENTRIES", "128", 1);
  EXPECT_EQ(RecordBytes(Communicator::create_local(1, small_options()).value()[0].record_path())
                .header()
                .entry_capacity,
            256U);
  CommunicatorOptions options = small_options();
  options.record_entries = 0;
  const auto made = Communicator::create_local(1, options).value();
  EXPECT_EQ(RecordBytes(made[0].record_path()).header().entry_capacity, 128U);
  ::setenv("RINGCOMM_RECORD_ENTRIES", "0", 1);
  EXPECT_EQ(Communicator::create_local(1, options).status().to_string(),
            "invalid_argument: RINGCOMM_RECORD_ENTRIES is 0 (1 to 16777216 are possible)");
}

}  // namespace
}  // namespace ringcomm
