// SPDX-License-Identifier: Apache-2.0
// The oracle of a ring's cost is brute force over all orders; that of an agreement, what every rank says
// alone.
#include "comm/places.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <thread>

#include "comm/rotation_mode.hpp"
#include "core/affinity.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/binding.hpp"
#include "support/rank_threads.hpp"

namespace ringcomm {
namespace {

using comm::Place;

TEST(ExplainRingTest, SaysWhereTheRingCrosses) {
  const std::vector<Place> places{{1, 0, 0}, {1, 0, 1}, {1, 1, 2}, {2, 0, 0}};
  const std::vector<int> order{0, 1, 2, 3};
  EXPECT_EQ(
      comm::explain_ring(places, order),
      "ring order 0 1 2 3: of 4 edges 2 go to another host, 1 to another package, 1 to another memory node");
}

TEST(ParseRingOrderTest, CommasAndBlanksSeparate) {
  EXPECT_EQ(comm::parse_ring_order("2,0,1", "X").value(), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(comm::parse_ring_order("2 0, 1", "X").value(), (std::vector<int>{2, 0, 1}));
  const Status status = comm::parse_ring_order("2,zero", "RINGCOMM_RING_ORDER").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("RINGCOMM_RING_ORDER holds \"zero\""), std::string::npos);
}

TEST(CheckRingOrderTest, EveryRankOnce) {
  EXPECT_TRUE(comm::check_ring_order({1, 0, 2}, 3, "X").is_ok());
  for (const std::vector<int>& wrong :
       {std::vector<int>{0, 1}, std::vector<int>{0, 1, 1}, std::vector<int>{1, 2, 3}})
    EXPECT_EQ(comm::check_ring_order(wrong, 3, "X").code(), StatusCode::invalid_argument);
}

/// Two sockets whose memory nodes are numbered in turn: 0 and 2 are of the first, 1 and 3 of the second.
std::shared_ptr<const Machine> two_sockets() {
  Machine machine;
  machine.hosts.push_back({.name = "fake"});
  for (int node = 0; node < 4; ++node) {
    machine.numa_nodes.push_back(
        {.id = node, .package = node % 2, .cpus = std::vector<int>{1000 + 2 * node, 1001 + 2 * node}});
  }
  machine.packages.resize(2);
  machine.packages[1].id = 1;
  return std::make_shared<const Machine>(std::move(machine));
}

/// Whose blocks arrived at this thread's rank, as the recorder sees it.
thread_local std::vector<int> arrived_here;

class ArrivalSink : public EventSink, public ChannelSink {
 public:
  ChannelSink* open_channel(std::span<const int>, std::uint32_t, std::string_view) noexcept override {
    return this;
  }
  void enter(const Descriptor&, std::int64_t, std::string_view) noexcept override {}
  void leave(const Descriptor&, StatusCode) noexcept override {}
  void record(Direction direction, const Descriptor& descriptor, int peer, const void*,
              OpState state) noexcept override {
    if (direction == Direction::incoming && descriptor.op == OpCode::ring_rotate && state == OpState::arrived)
      arrived_here.push_back(peer);
  }
};

struct Visit {
  std::vector<int> ring;
  std::vector<int> sources;
  std::vector<int> recorded;
};

/// What each of four ranks saw of the ring, and the blocks in the order in which it got them.
Result<std::vector<Visit>> rotate_once(CommunicatorOptions options) {
  std::vector<Visit> visits(4);
  ArrivalSink sink;
  options.sink = &sink;
  const auto body = [&](Communicator& comm) -> Status {
    Visit& visit = visits[static_cast<std::size_t>(comm.rank())];
    visit.ring = comm.ring_order();
    std::vector<float> block(64, static_cast<float>(comm.rank()));
    const auto k = TensorView::contiguous(block.data(), DType::float32, {1, 1, 32});
    const auto v = TensorView::contiguous(block.data() + 32, DType::float32, {1, 1, 32});
    RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), k, v));
    arrived_here.clear();
    RINGCOMM_TRY(rotation.run([&](const RotationStep& step) { visit.sources.push_back(step.source()); }));
    visit.recorded = arrived_here;
    return {};
  };
  RINGCOMM_TRY(run_threads(4, body, options));
  return visits;
}

CommunicatorOptions options_with(std::shared_ptr<const Machine> machine, std::vector<int> ring_order = {}) {
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  options.transports = {inproc_transport()};
  options.machine = std::move(machine);
  options.ring_order = std::move(ring_order);
  return options;
}

TEST(AgreementTest, ALoadedMachineChangesWhomRanksMeet) {
  const auto visits = rotate_once(options_with(two_sockets())).value();
  for (const Visit& visit : visits) EXPECT_EQ(visit.ring, (std::vector<int>{0, 1, 3, 2}));
  // Places back in that ring, from each rank's own.
  EXPECT_EQ(visits[0].sources, (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(visits[1].sources, (std::vector<int>{1, 0, 2, 3}));
  EXPECT_EQ(visits[2].sources, (std::vector<int>{2, 3, 1, 0}));
  EXPECT_EQ(visits[3].sources, (std::vector<int>{3, 1, 0, 2}));
  for (const Visit& visit : visits)
    EXPECT_EQ(visit.recorded, std::vector<int>(visit.sources.begin() + 1, visit.sources.end()));
}

TEST(AgreementTest, WithoutItTheRanksOfOneNodeFollowTheirNumbers) {
  Machine one;
  one.numa_nodes.push_back({.id = 0, .package = 0, .cpus = std::vector<int>{0, 1, 2, 3}});
  const auto visits = rotate_once(options_with(std::make_shared<const Machine>(one))).value();
  EXPECT_EQ(visits[2].ring, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(visits[2].sources, (std::vector<int>{2, 1, 0, 3}));
}

TEST(AgreementTest, AForcedOrderWins) {
  const auto visits = rotate_once(options_with(two_sockets(), {0, 3, 2, 1})).value();
  for (const Visit& visit : visits) EXPECT_EQ(visit.ring, (std::vector<int>{0, 3, 2, 1}));
  EXPECT_EQ(visits[0].sources, (std::vector<int>{0, 1, 2, 3}));
}

TEST(AgreementTest, AnOrderThatIsNoneIsRefusedOnAllRanks) {
  const Status status = rotate_once(options_with(two_sockets(), {0, 3, 2, 2})).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("each once"), std::string::npos) << status.to_string();
}

TEST(AgreementTest, CpusThatAreNotHereAreNotBoundTo) {
  const auto body = [](Communicator& comm) -> Status {
    if (!comm.placement().cpus.empty() || comm.placement().memory_node != -1)
      return Status::internal("bound to a machine that is not here");
    return {};
  };
  const Status status = run_threads(4, body, options_with(two_sockets()));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(AgreementTest, ADescriptionWithoutCpusLeavesThePlacingToTheLiveMachine) {
  const auto body = [](Communicator& comm) -> Status {
    return comm.placement().cpus.empty() ? Status::internal("bound to nothing") : Status();
  };
  const Status status = run_threads(2, body, options_with(std::make_shared<const Machine>()));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(AgreementTest, SubRingsKeepTheOrderOfTheWhole) {
  const auto body = [](Communicator& comm) -> Status {
    if (comm.rank() == 1) return {};
    RINGCOMM_TRY_ASSIGN(Channel * sub, comm.open_channel({0, 2, 3}));
    if (sub->ring_order() != std::vector<int>{0, 2, 1}) return Status::internal("members keep their places");
    return {};
  };
  const Status status = run_threads(4, body, options_with(two_sockets()));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(AgreementTest, PartsOfASplitKeepAForcedOrder) {
  const auto body = [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto part, comm.split(comm.rank() == 1 ? 1 : 0, 0));
    const std::vector<int> wanted = comm.rank() == 1 ? std::vector<int>{0} : std::vector<int>{2, 0, 1};
    return part->ring_order() == wanted ? Status() : Status::internal("order of the parent's list is lost");
  };
  const Status status = run_threads(4, body, options_with(two_sockets(), {3, 0, 1, 2}));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

/// What agree_on_places() gives each of two ranks, every one of which `prepare`s its wish on its own thread.
template <class Prepare>
std::vector<Result<comm::Agreement>> agree_two(Prepare&& prepare) {
  auto bootstraps = bootstrap_threads(2).value();
  std::vector<Result<comm::Agreement>> agreed(2, Result<comm::Agreement>(Status::internal("not run")));
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const comm::TopologyWish wish = prepare(static_cast<int>(rank));
      agreed[rank] =
          comm::agree_on_places(*bootstraps[rank], wish, nullptr, Deadline::after(std::chrono::seconds(20)));
    });
  }
  threads.clear();
  return agreed;
}

TEST(AgreementTest, DifferentForcedOrdersAreAMismatchOnAllRanks) {
  const auto agreed = agree_two([](int rank) {
    comm::TopologyWish wish;
    wish.ring_order = rank == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    return wish;
  });
  for (const auto& result : agreed) {
    EXPECT_EQ(result.status().code(), StatusCode::mismatch);
    EXPECT_NE(result.status().message().find("rank 0 and rank 1"), std::string_view::npos);
  }
}

TEST(AgreementTest, OneRankWithoutTheForcedOrderIsAMismatch) {
  const auto agreed = agree_two([](int rank) {
    comm::TopologyWish wish;
    wish.keeps_rank_order = rank == 1;
    return wish;
  });
  for (const auto& result : agreed) EXPECT_EQ(result.status().code(), StatusCode::mismatch);
}

TEST(AgreementTest, RanksThatALauncherBoundStayOnTheirCpus) {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "two ranks cannot be bound to different CPUs where there is one";
  // Rank 0 may use all, rank 1 the last one only: somebody chose that, so neither mask is cut into shares.
  const auto agreed = agree_two([&](int rank) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpus.back(), &mask);
    if (rank == 1) {
      EXPECT_EQ(::sched_setaffinity(0, sizeof(mask), &mask), 0);
    }
    return comm::TopologyWish{};
  });
  std::vector<int> first = agreed[0]->placement.cpus;
  std::ranges::sort(first);
  EXPECT_EQ(first, cpus);
  EXPECT_EQ(agreed[1]->placement.cpus, std::vector<int>{cpus.back()});
}

TEST(AgreementTest, RanksThatNobodyBoundShareTheCores) {
  const auto agreed = agree_two([](int) { return comm::TopologyWish{}; });
  const auto expected = spread_ranks(discover_cores(), 2);
  EXPECT_EQ(agreed[0]->placement.cpus, expected[0].cpus);
  EXPECT_EQ(agreed[1]->placement.cpus, expected[1].cpus);
}

TEST(AgreementTest, SpeedsAndMergeLimitsAreThoseOfRankZero) {
  const auto agreed = agree_two([](int rank) {
    comm::TopologyWish wish;
    wish.speeds = {.inside = 10.0 + rank, .between = 5.0 + rank};
    wish.merge = {.ranks = 2, .one_shot_bytes = 100U + static_cast<unsigned>(rank)};
    return wish;
  });
  EXPECT_GT(agreed[0]->merge.cache_bytes, 0U) << "the last cache where nothing was measured";
  for (const auto& result : agreed) {
    EXPECT_EQ(result->speeds.inside, 10.0);
    EXPECT_EQ(result->speeds.between, 5.0);
    EXPECT_EQ(result->merge.one_shot_bytes, 100U);
    EXPECT_EQ(result->merge.cache_bytes, agreed[0]->merge.cache_bytes);
  }
}

TEST(RelayIsFasterTest, WhatIsNotMeasuredDecidesNothing) {
  const std::vector<Place> places{{1, 0, 0}, {1, 0, 0}, {1, 1, 1}, {1, 1, 1}};
  EXPECT_FALSE(comm::relay_is_faster(places, {0, 1, 2, 3}, {}));
  EXPECT_FALSE(comm::relay_is_faster(places, {0, 1, 2, 3}, {.inside = 10, .between = 0}));
  EXPECT_FALSE(comm::relay_is_faster(places, {0, 1, 2, 3}, {.inside = 0, .between = 10}));
}

/// Two packages of n/2: read in place, step t crosses min(t, n - t) times in each direction; relayed, once a
/// step.
TEST(RelayIsFasterTest, ManyRanksOverANarrowLinkRelay) {
  const auto faster = [](int ranks, double inside, double between) {
    std::vector<Place> places;
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) {
      places.push_back({1, rank < ranks / 2 ? 0 : 1, 0});
      order.push_back(rank);
    }
    return comm::relay_is_faster(places, order, {.inside = inside, .between = between});
  };
  // n = 4: direct max(1/10, 1/2) + max(1/10, 2/2) + 1/2 = 2.0; relay 3 * (1/2 + 1/10) = 1.8.
  EXPECT_TRUE(faster(4, 10, 2));
  // direct 3 * 1/10 + ... with a link as fast as memory: 1/10 + 2/10 + 1/10 = 0.4; relay 3 * 2/10 = 0.6.
  EXPECT_FALSE(faster(4, 10, 10));
  EXPECT_FALSE(faster(2, 10, 1));
  EXPECT_TRUE(faster(64, 10, 20));
}

}  // namespace
}  // namespace ringcomm
