// SPDX-License-Identifier: Apache-2.0
// How long the ring planner takes, and how far its search above the exact sizes is from the optimum.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "graphs.hpp"

namespace ringcomm::perf {
namespace {

template <class Plan>
struct Timed {
  Plan plan{};
  double ms = 0;
};

template <class Work>
auto timed(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  auto plan = check(work());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  return Timed<decltype(plan)>{std::move(plan), took.count()};
}

auto timed_ring(const RingGraph& graph, const RingOptions& options = {}) {
  return timed([&] { return plan_ring(graph, options); });
}

const char* name_of(Levels kind) { return kind == Levels::two_way ? "yes" : "no"; }

void exact_row(Random& random, int size, int levels) {
  double best = 0;
  double worst = 0;
  for (int round = 0; round < 7; ++round) {
    const auto kind = round % 2 == 0 ? Levels::two_way : Levels::one_way;
    const double ms = timed_ring(random_graph(random, size, levels, kind), {.exact_max = 20}).ms;
    best = round == 0 ? ms : std::min(best, ms);
    worst = std::max(worst, ms);
  }
  std::printf("%5d  %6d  %9.2f  %9.2f\n", size, levels, best, worst);
}

void print_exact() {
  std::printf("exact, 7 random graphs each\n    n  levels    best ms   worst ms\n");
  Random random(1);
  for (const int size : {8, 10, 12, 14, 16, 18}) exact_row(random, size, 5);
  exact_row(random, 16, 200);
}

void print_quality() {
  std::printf("search against the optimum, 200 random graphs of 5 levels each\n");
  std::printf("    n  symmetric  optimal  proven   mean ms\n");
  Random random(2);
  for (const int size : {8, 12, 16})
    for (const auto kind : {Levels::two_way, Levels::one_way}) {
      int optimal = 0;
      int proven = 0;
      double ms = 0;
      for (int round = 0; round < 200; ++round) {
        const auto graph = random_graph(random, size, 5, kind);
        const auto found = timed_ring(graph, {.exact_max = 2});
        ms += found.ms;
        optimal += found.plan.level_counts == check(plan_ring(graph)).level_counts ? 1 : 0;
        proven += found.plan.is_exact ? 1 : 0;
      }
      std::printf("%5d  %9s  %3d/200  %6d  %8.2f\n", size, name_of(kind), optimal, proven, ms / 200);
    }
}

void print_cube_meshes() {
  std::printf("cube-mesh nodes, 20 shuffles each\n    n  optimal  proven   worst ms\n");
  Random random(3);
  for (const int nodes : {3, 9, 16, 64}) {
    int optimal = 0;
    int proven = 0;
    double worst = 0;
    for (int shuffle = 0; shuffle < 20; ++shuffle) {
      const auto found = timed_ring(shuffled_cube_meshes(random, nodes));
      optimal += found.plan.level_counts == std::vector{nodes, 0, 0, nodes * 7} ? 1 : 0;
      proven += found.plan.is_exact ? 1 : 0;
      worst = std::max(worst, found.ms);
    }
    std::printf("%5d    %2d/20   %2d/20  %9.2f\n", nodes * 8, optimal, proven, worst);
  }
}

void print_disjoint() {
  std::printf("link-disjoint rings of complete graphs\n    n  links  rings  links used         ms\n");
  for (const auto& [size, links] :
       {std::pair{4, 4}, {4, 3}, {4, 12}, {6, 1}, {7, 1}, {8, 1}, {8, 2}, {16, 1}}) {
    const auto graph = linked_graph(size, links);
    const auto found = timed([&] { return plan_disjoint_rings(graph); });
    std::printf("%5d  %5d  %5zu  %4d of %4d  %9.2f\n", size, links, found.plan.rings.size(),
                found.plan.links_used, found.plan.links_total, found.ms);
  }
}

void print_clusters() {
  std::printf("hosts of 8 GPUs and 8 NICs\nhosts   GPUs  KV heads  scheme                   ms\n");
  for (const int hosts : {16, 128, 1280})
    for (const int kv_heads : {8, 4}) {
      const auto request = switched_hosts(hosts, kv_heads);
      const auto found = timed([&] { return plan_cluster_rings(request); });
      std::printf("%5d  %5d  %8d  %-18s  %7.2f\n", hosts, hosts * 8, kv_heads,
                  std::string(ringcomm::name_of(found.plan.scheme)).c_str(), found.ms);
    }
}

}  // namespace
}  // namespace ringcomm::perf

int main() {
  ringcomm::perf::print_exact();
  ringcomm::perf::print_quality();
  ringcomm::perf::print_cube_meshes();
  ringcomm::perf::print_disjoint();
  ringcomm::perf::print_clusters();
}
