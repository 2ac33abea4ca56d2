// SPDX-License-Identifier: Apache-2.0
// Failures are told from one state block to another, as between ranks.
#include "transport/common/failure.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ringcomm::transport {
namespace {

struct Listener final : FailureListener {
  Status explain(Status found, int /*culprit*/) noexcept override { return found; }
  void on_failure(const Status& failure, int culprit) noexcept override {
    text = failure.to_string();
    culprits.push_back(culprit);
  }
  std::string text;
  std::vector<int> culprits;
};

Life life_of(const StateBlock& block) { return static_cast<Life>(block.life.load()); }

TEST(FailureTest, TheFirstFailureStaysAndIsTold) {
  const auto block = std::make_unique<StateBlock>();
  Failure failure(2);
  failure.publish_in(*block);
  EXPECT_EQ(life_of(*block), Life::live);
  EXPECT_TRUE(failure.status().is_ok());
  EXPECT_EQ(failure.fail({Status::timeout("rank 1 is late"), 1, 2}).to_string(), "timeout: rank 1 is late");
  EXPECT_EQ(failure.fail({Status::aborted("too late"), 0, 2}).to_string(), "timeout: rank 1 is late");
  EXPECT_EQ(life_of(*block), Life::failed);
  const FailureReport told = read_failure(*block);
  EXPECT_EQ(told.status.to_string(), "timeout: rank 1 is late");
  EXPECT_EQ(told.culprit, 1);
  EXPECT_EQ(told.reporter, 2);
}

TEST(FailureTest, AFailureTakenOverKeepsCulpritReporterAndText) {
  const auto first = std::make_unique<StateBlock>();
  const auto second = std::make_unique<StateBlock>();
  Failure seer(0);
  Failure middle(1);
  Failure last(2);
  seer.publish_in(*first);
  middle.publish_in(*second);
  (void)seer.fail({Status::peer_lost("rank 3 died"), 3, 0});
  EXPECT_EQ(middle.fail(read_failure(*first)).to_string(), "peer_lost: rank 3 died (told by rank 0)");
  EXPECT_EQ(last.fail(read_failure(*second)).to_string(), "peer_lost: rank 3 died (told by rank 0)");
  EXPECT_EQ(read_failure(*second).culprit, 3);
}

TEST(FailureTest, TheListenerHearsTheFirstFailureOnce) {
  Listener listener;
  Failure failure(1, &listener);
  EXPECT_TRUE(failure.status().is_ok());
  EXPECT_TRUE(listener.culprits.empty());
  (void)failure.fail({Status::peer_lost("rank 3 died"), 3, 0});  // told by rank 0
  (void)failure.fail({Status::aborted("too late"), 2, 1});
  (void)failure.status();
  EXPECT_EQ(listener.text, "peer_lost: rank 3 died");
  EXPECT_EQ(listener.culprits, std::vector<int>{3});
}

TEST(FailureTest, AFailureBeforeThePublicationIsToldByIt) {
  const auto block = std::make_unique<StateBlock>();
  Failure failure(0);
  (void)failure.fail({Status::aborted("early"), 0, 0});
  failure.publish_in(*block);
  EXPECT_EQ(life_of(*block), Life::failed);
}

TEST(FailureTest, LeavingIsToldUnlessAFailureWas) {
  const auto block = std::make_unique<StateBlock>();
  Failure leaves(0);
  leaves.publish_in(*block);
  leaves.close();
  EXPECT_EQ(life_of(*block), Life::closed);
  const auto other = std::make_unique<StateBlock>();
  Failure fails(1);
  fails.publish_in(*other);
  (void)fails.fail({Status::aborted("x"), 1, 1});
  fails.close();
  EXPECT_EQ(life_of(*other), Life::failed);
}

TEST(FailureTest, LongTextsAreCutAndForeignCodesBecomeInternal) {
  const auto block = std::make_unique<StateBlock>();
  Failure failure(0);
  failure.publish_in(*block);
  (void)failure.fail({Status::aborted(std::string(1000, 'x')), 0, 0});
  const FailureReport told = read_failure(*block);
  EXPECT_EQ(told.status.message().size(), kFailureTextBytes);
  EXPECT_TRUE(told.status.message().ends_with("x..."));
  block->code = 250;
  block->text_bytes = 0xffffffffU;
  EXPECT_EQ(read_failure(*block).status.code(), StatusCode::internal);
}

}  // namespace
}  // namespace ringcomm::transport
