// SPDX-License-Identifier: Apache-2.0
// Rings over hosts: properties over many shapes, then the rules one by one.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "topology/rings/ring_graphs.hpp"

namespace ringcomm {
namespace {

/// `gpus` behind a switch, neighbours share a NIC.
ClusterHost make_host(int gpus, int nics, double nvlink_gb_per_s = 370) {
  ClusterHost host{
      .name = "host",
      .local = tests::complete_graph(gpus, {.level = 0, .gb_per_s = nvlink_gb_per_s, .links = 0}),
      .nic_of_gpu = {},
      .nic_gb_per_s = 50};
  for (int gpu = 0; gpu < gpus; ++gpu) host.nic_of_gpu.push_back(nics == 0 ? -1 : gpu * nics / gpus);
  return host;
}

ClusterRequest make_request(int hosts, const ClusterHost& host, Rails rails, int kv_heads) {
  return {.hosts = std::vector<ClusterHost>(static_cast<std::size_t>(hosts), host),
          .host_order = {},
          .rails = rails,
          .kv_heads = kv_heads};
}

int rank_count(const ClusterRequest& request) {
  int ranks = 0;
  for (const auto& host : request.hosts) ranks += host.local.size;
  return ranks;
}

/// Host of a rank, for hosts of one size.
int host_of(const ClusterRequest& request, int rank) { return rank / request.hosts.front().local.size; }

void expect_sound(const ClusterRequest& request, const ClusterPlan& plan) {
  double shares = 0;
  for (const auto& ring : plan.rings) {
    shares += ring.share;
    ASSERT_EQ(ring.order.size(), static_cast<std::size_t>(rank_count(request)));
    ASSERT_EQ(ring.hops.size(), ring.order.size());
    EXPECT_EQ(std::set<int>(ring.order.begin(), ring.order.end()).size(), ring.order.size());
    EXPECT_EQ(*std::max_element(ring.order.begin(), ring.order.end()), rank_count(request) - 1);
    EXPECT_EQ(*std::min_element(ring.order.begin(), ring.order.end()), 0);
    for (std::size_t i = 0; i < ring.hops.size(); ++i) {
      const auto& hop = ring.hops[i];
      EXPECT_EQ(hop.from, ring.order[i]);
      if (plan.scheme != ClusterScheme::double_ring) {
        EXPECT_EQ(hop.to, ring.order[(i + 1) % ring.order.size()]);
      }
      if (host_of(request, hop.from) != host_of(request, hop.to)) continue;
      EXPECT_EQ(hop.from_rail, -1);
      EXPECT_EQ(hop.to_rail, -1);
    }
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_FALSE(plan.explanation.empty());
}

/// Out and in hops of each NIC.
using NicUse = std::map<std::pair<int, int>, std::pair<int, int>>;
NicUse nic_use(const ClusterRequest& request, const ClusterPlan& plan) {
  NicUse use;
  for (const auto& ring : plan.rings)
    for (const auto& hop : ring.hops) {
      if (hop.from_rail >= 0) ++use[{host_of(request, hop.from), hop.from_rail}].first;
      if (hop.to_rail >= 0) ++use[{host_of(request, hop.to), hop.to_rail}].second;
    }
  return use;
}

void expect_rails_kept(const ClusterRequest& request, const ClusterPlan& plan, int nics) {
  EXPECT_EQ(plan.cross_rail_hops, 0) << plan.explanation;
  for (const auto& ring : plan.rings)
    for (const auto& hop : ring.hops) EXPECT_EQ(hop.from_rail, hop.to_rail);
  if (plan.scheme == ClusterScheme::flat) return;
  const auto use = nic_use(request, plan);
  EXPECT_EQ(use.size(), request.hosts.size() * static_cast<std::size_t>(nics));
  EXPECT_EQ(plan.nics_used, plan.nics_total);
  if (plan.scheme == ClusterScheme::double_ring) return;
  for (const auto& [nic, count] : use) EXPECT_EQ(count, std::pair(1, 1)) << nic.first << ":" << nic.second;
}

TEST(ClusterRingsTest, EveryShapeKeepsItsRails) {
  for (int hosts = 2; hosts <= 7; ++hosts)
    for (const int gpus : {1, 2, 3, 4, 6, 8})
      for (int nics = 0; nics <= gpus; ++nics)
        for (const int kv_heads : {1, 4, std::max(1, nics), 6 * std::max(1, nics)})
          for (const double nvlink : {370.0, 60.0}) {
            SCOPED_TRACE(
                concat(hosts, " hosts, ", gpus, " GPUs, ", nics, " NICs, ", kv_heads, " heads, ", nvlink));
            const auto request =
                make_request(hosts, make_host(gpus, nics, nvlink), Rails::same_index, kv_heads);
            const auto plan = plan_cluster_rings(request);
            ASSERT_TRUE(plan.is_ok()) << plan.status().message();
            expect_sound(request, plan.value());
            expect_rails_kept(request, plan.value(), nics);
            const bool splits = nics > 1 && kv_heads % nics == 0;
            const bool doubles = plan.value().scheme == ClusterScheme::double_ring;
            if (!doubles) {
              EXPECT_EQ(plan.value().rings.size(), splits ? static_cast<std::size_t>(nics) : 1U);
            }
            if (nics > 1 && !splits) {
              EXPECT_TRUE(doubles);
            }
          }
}

TEST(ClusterRingsTest, OtherNetworksAreSound) {
  for (const Rails rails : {Rails::full, Rails::none})
    for (int hosts = 1; hosts <= 5; ++hosts)
      for (const int gpus : {1, 2, 3, 8})
        for (int nics = 0; nics <= gpus; ++nics) {
          SCOPED_TRACE(concat(hosts, " hosts, ", gpus, " GPUs, ", nics, " NICs"));
          const auto request = make_request(hosts, make_host(gpus, nics), rails, 24 * 35);
          const auto plan = plan_cluster_rings(request).value();
          expect_sound(request, plan);
          if (rails == Rails::none) {
            EXPECT_EQ(plan.scheme, ClusterScheme::flat);
          }
          if (plan.rings.size() < 2) continue;
          for (const auto& [nic, count] : nic_use(request, plan)) EXPECT_EQ(count, std::pair(1, 1));
        }
}

TEST(ClusterRingsTest, RuleASharedNic) {
  // p4d: 8 GPUs, 4 NICs.
  const auto request = make_request(3, make_host(8, 4), Rails::same_index, 8);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.scheme, ClusterScheme::rail_rings);
  EXPECT_NE(plan.explanation.find("rule (a)"), std::string::npos);
  EXPECT_EQ(plan.network_step_gb_per_s, 200);
  for (const auto& ring : plan.rings)
    for (const auto& hop : ring.hops)
      if (hop.from_rail >= 0) {
        EXPECT_EQ(hop.from % 8 / 2, hop.from_rail);
        EXPECT_EQ(hop.to % 8 / 2, hop.to_rail);
        EXPECT_NE(hop.from % 8, hop.to % 8);
      }
}

TEST(ClusterRingsTest, RuleCAlternatesAlsoWithAnOddNumberOfHosts) {
  for (const int hosts : {2, 4, 5}) {
    const auto request = make_request(hosts, make_host(8, 8), Rails::same_index, 8);
    const auto plan = plan_cluster_rings(request).value();
    EXPECT_EQ(plan.scheme, ClusterScheme::alternating_rings);
    EXPECT_NE(plan.explanation.find("rule (c)"), std::string::npos);
    EXPECT_EQ(plan.explanation.find("third NIC") != std::string::npos, hosts == 5);
    EXPECT_EQ(plan.network_step_gb_per_s, 400);
    for (const auto& ring : plan.rings)
      for (const auto& hop : ring.hops)
        if (hop.from_rail >= 0) {
          EXPECT_EQ(hop.from % 8, hop.from_rail);
          EXPECT_EQ(hop.to % 8, hop.to_rail);
        }
  }
}

TEST(ClusterRingsTest, RuleBHandsOverWhereAlternatingCannot) {
  const auto request = make_request(3, make_host(2, 2), Rails::same_index, 8);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.scheme, ClusterScheme::rail_rings);
  EXPECT_NE(plan.explanation.find("rule (b)"), std::string::npos);
  // NVLink below twice the NIC: rail rings would be held up, the double ring is not.
  const auto slow = plan_cluster_rings(make_request(3, make_host(2, 2, 99), Rails::same_index, 8)).value();
  EXPECT_EQ(slow.scheme, ClusterScheme::double_ring);
  auto unknown = make_request(3, make_host(2, 2), Rails::same_index, 8);
  for (auto& host : unknown.hosts) host.nic_gb_per_s = 0;
  EXPECT_EQ(plan_cluster_rings(unknown).value().scheme, ClusterScheme::double_ring);
  EXPECT_EQ(plan_cluster_rings(unknown).value().network_step_gb_per_s, 0);
}

TEST(ClusterRingsTest, RuleDWhereRailsMeet) {
  const auto request = make_request(3, make_host(2, 2), Rails::full, 8);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_NE(plan.explanation.find("rule (d)"), std::string::npos);
  EXPECT_EQ(plan.cross_rail_hops, 6);
}

TEST(ClusterRingsTest, FewHeadsTakeTheDoubleRing) {
  const auto request = make_request(3, make_host(8, 4), Rails::same_index, 6);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.scheme, ClusterScheme::double_ring);
  EXPECT_NE(plan.explanation.find("6 KV heads"), std::string::npos);
  ASSERT_EQ(plan.inner.size(), 3U);
  EXPECT_EQ(plan.inner[2].front(), 16);
  // 8 GPUs send over 4 NICs in 8 steps.
  EXPECT_EQ(plan.network_step_gb_per_s, 200);
  for (const auto& hop : plan.rings.front().hops) EXPECT_EQ(hop.from % 8, hop.to % 8);
}

TEST(ClusterRingsTest, DoubleRingAlignsHostsThatCountOtherwise) {
  auto request = make_request(2, make_host(4, 4), Rails::same_index, 3);
  request.hosts[1].nic_of_gpu = {3, 1, 0, 2};
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.scheme, ClusterScheme::double_ring);
  expect_sound(request, plan);
  expect_rails_kept(request, plan, 4);
  // A GPU whose NIC the other host lacks borrows a peer's.
  request.hosts[1].nic_of_gpu = {3, 1, 0, 0};
  request.kv_heads = 4;
  const auto borrowed = plan_cluster_rings(request).value();
  EXPECT_EQ(borrowed.scheme, ClusterScheme::double_ring);
  EXPECT_EQ(borrowed.cross_rail_hops, 0);
  for (auto& edge : request.hosts[0].local.edges) edge.gb_per_s = 99;
  EXPECT_EQ(plan_cluster_rings(request).value().scheme, ClusterScheme::flat);
}

TEST(ClusterRingsTest, HostsOfDifferentSizes) {
  auto request = make_request(4, make_host(8, 4), Rails::same_index, 4);
  request.hosts[2] = make_host(4, 4);
  request.hosts[3] = make_host(5, 4);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.rings.size(), 4U);
  EXPECT_EQ(plan.cross_rail_hops, 0);
  for (const auto& ring : plan.rings)
    EXPECT_EQ(std::set<int>(ring.order.begin(), ring.order.end()).size(), 25U);
  request.kv_heads = 3;
  const auto flat = plan_cluster_rings(request).value();
  EXPECT_EQ(flat.scheme, ClusterScheme::flat);
  EXPECT_EQ(flat.cross_rail_hops, 0);
}

TEST(ClusterRingsTest, PathsInsideAHostAreTheBest) {
  // Cube meshes with a NIC for each pair 2k, 2k+1: from one GPU of the pair to the other.
  auto host = make_host(8, 4);
  host.local = tests::cube_mesh();
  const auto request = make_request(2, host, Rails::same_index, 4);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.rings.size(), 4U);
  for (const auto& ring : plan.rings)
    for (const auto& hop : ring.hops)
      if (hop.from_rail < 0) {
        EXPECT_LE(host.local.at(hop.from % 8, hop.to % 8).level, 1) << hop.from << "-" << hop.to;
      }
}

TEST(ClusterRingsTest, OnlyCommonRailsCountOnSameIndexNetworks) {
  auto request = make_request(2, make_host(4, 2), Rails::same_index, 2);
  request.hosts[1].nic_of_gpu = {1, 1, 2, 2};
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.rings.size(), 1U);
  EXPECT_EQ(plan.cross_rail_hops, 0);
  request.rails = Rails::full;
  EXPECT_EQ(plan_cluster_rings(request).value().rings.size(), 2U);
}

TEST(ClusterRingsTest, HostOrderIsKept) {
  auto request = make_request(3, make_host(2, 1), Rails::same_index, 1);
  request.host_order = {2, 0, 1};
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.host_order, request.host_order);
  EXPECT_EQ(plan.rings.front().order.front() / 2, 2);
  EXPECT_EQ(plan.rings.front().order.back() / 2, 1);
}

TEST(ClusterRingsTest, ThousandsOfGpus) {
  const auto request = make_request(1280, make_host(8, 8), Rails::same_index, 8);
  const auto plan = plan_cluster_rings(request).value();
  EXPECT_EQ(plan.rings.size(), 8U);
  EXPECT_EQ(plan.rings.front().order.size(), 10240U);
  EXPECT_EQ(plan.cross_rail_hops, 0);
}

TEST(ClusterRingsTest, RefusesWhatDoesNotFitTogether) {
  const auto good = make_request(2, make_host(2, 2), Rails::same_index, 2);
  const auto sentence = [](const ClusterRequest& request) {
    return std::string(plan_cluster_rings(request).status().message());
  };
  EXPECT_EQ(sentence(good), "");
  EXPECT_NE(sentence({}), "");
  auto bad = good;
  bad.kv_heads = 0;
  EXPECT_NE(sentence(bad).find("0 KV heads"), std::string::npos);
  bad = good;
  bad.hosts[1].nic_of_gpu.pop_back();
  EXPECT_NE(sentence(bad).find("host 1"), std::string::npos);
  bad = good;
  bad.hosts[1].nic_of_gpu[1] = -2;
  EXPECT_NE(sentence(bad).find("GPU 1 is -2"), std::string::npos);
  bad = good;
  bad.hosts[1].nic_gb_per_s = -1;
  EXPECT_NE(sentence(bad), "");
  bad = good;
  bad.hosts[1].local.edges.pop_back();
  EXPECT_NE(sentence(bad).find("host 1"), std::string::npos);
  for (const std::vector<int>& order : {std::vector{0}, {0, 0}, {0, 2}, {-1, 0}}) {
    bad = good;
    bad.host_order = order;
    EXPECT_NE(sentence(bad).find("host order"), std::string::npos);
  }
}

}  // namespace
}  // namespace ringcomm
