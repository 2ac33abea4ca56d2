// SPDX-License-Identifier: Apache-2.0
// Which transport a group takes, and what its ranks hear when there is none, or when one of them cannot come.
#include "comm/select_transport.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

/// Serves only the ranks below `ranks_served`; nothing else is ever called.
class Picky final : public Transport {
 public:
  Picky(std::string name, int ranks_served) : name_(std::move(name)), ranks_served_(ranks_served) {}
  std::string_view name() const override { return name_; }
  Capabilities capabilities() const override { return {}; }
  Status can_serve(const Bootstrap& bootstrap) const override {
    return bootstrap.rank() < ranks_served_ ? Status() : Status::not_available(name_ + " has no cable");
  }
  Status connect(Bootstrap&, const TransportOptions&, Deadline) override { return {}; }
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey&, Deadline) override {
    return Status::not_available("picky");
  }
  Status register_segment(std::shared_ptr<Segment>) override { return {}; }
  void deregister_segment(const Segment*) override {}
  std::string_view path_name(int) const override { return name_; }
  void abort(Status) override {}
  Status health() const override { return {}; }
  TransportCounters counters() const override { return {}; }

 private:
  std::string name_;
  int ranks_served_;
};

TransportFactory picky(std::string name, int ranks_served) {
  return [=] { return std::make_unique<Picky>(name, ranks_served); };
}

/// What each of three ranks gets: a transport's name, or its error.
std::vector<std::string> select(
    const std::function<std::vector<TransportFactory>(int)>& list,
    const std::function<Status(int)>& own = [](int) { return Status(); }) {
  auto bootstraps = bootstrap_threads(3);
  EXPECT_TRUE(bootstraps.is_ok());
  std::vector<std::string> outcomes(3);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        const auto at = static_cast<std::size_t>(rank);
        auto chosen = comm::select_transport(*bootstraps.value()[at], list(rank), own(rank),
                                             Deadline::after(std::chrono::seconds(30)));
        outcomes[at] = chosen.is_ok() ? std::string(chosen.value()->name()) : chosen.status().to_string();
      });
    }
  }
  return outcomes;
}

TEST(SelectTransportTest, TheFirstThatServesEveryRankIsTaken) {
  const auto outcomes = select([](int) {
    return std::vector{picky("copper", 2), picky("fibre", 3), picky("smoke", 3)};
  });
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, "fibre");
}

TEST(SelectTransportTest, WithoutOneEveryClauseIsNamed) {
  const auto outcomes = select([](int) { return std::vector{picky("copper", 2), picky("fibre", 1)}; });
  for (const std::string& outcome : outcomes) {
    EXPECT_EQ(
        outcome,
        "not_available: no transport serves this group (copper on rank 2: copper has no cable; fibre on rank "
        "1: fibre has no cable)");
  }
}

TEST(SelectTransportTest, ListsThatDifferAreAMismatchOnBothSides) {
  const auto outcomes = select(
      [](int rank) { return rank == 2 ? std::vector{picky("fibre", 3)} : std::vector{picky("copper", 3)}; });
  EXPECT_EQ(outcomes[0], "mismatch: transports differ: rank 0 offers copper, rank 2 offers fibre");
  EXPECT_EQ(outcomes[2], "mismatch: transports differ: rank 2 offers fibre, rank 0 offers copper");
}

TEST(SelectTransportTest, ARankThatCannotSetUpReleasesTheOthersAtOnce) {
  const auto outcomes =
      select([](int) { return std::vector{picky("fibre", 3)}; },
             [](int rank) { return rank == 1 ? Status::out_of_memory("no arena") : Status(); });
  EXPECT_EQ(outcomes[0], "out_of_memory: rank 1 could not set up: no arena");
  EXPECT_EQ(outcomes[1], "out_of_memory: no arena");
  EXPECT_EQ(outcomes[2], outcomes[0]);
}

}  // namespace
}  // namespace ringcomm
