// SPDX-License-Identifier: Apache-2.0
#include "graphs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace ringcomm::perf {
namespace {

/// NVLinks between the 8 GPUs of a DGX-1V.
constexpr std::array<std::string_view, 8> kCubeMesh{"01122000", "10210200", "12020010", "21200001",
                                                    "20000112", "02001021", "00101202", "00012120"};

RingGraph complete_graph(int size, const RingEdge& edge) {
  return {.size = size, .edges = std::vector<RingEdge>(static_cast<std::size_t>(size * size), edge)};
}

}  // namespace

RingGraph random_graph(Random& random, int size, int levels, Levels kind) {
  auto graph = complete_graph(size, {});
  for (int a = 0; a < size; ++a)
    for (int b = 0; b < a; ++b) {
      graph.at(a, b).level = static_cast<int>(random() % static_cast<unsigned>(levels));
      graph.at(b, a).level = kind == Levels::two_way
                                 ? graph.at(a, b).level
                                 : static_cast<int>(random() % static_cast<unsigned>(levels));
    }
  return graph;
}

RingGraph shuffled_cube_meshes(Random& random, int nodes) {
  auto graph = complete_graph(nodes * 8, {.level = 3});
  std::vector<int> vertex(static_cast<std::size_t>(nodes * 8));
  std::iota(vertex.begin(), vertex.end(), 0);
  std::shuffle(vertex.begin(), vertex.end(), random);
  for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node)
    for (std::size_t a = 0; a < 8; ++a)
      for (std::size_t b = 0; b < 8; ++b)
        graph.at(vertex[(node * 8) + a], vertex[(node * 8) + b]).level = 2 - (kCubeMesh[a][b] - '0');
  return graph;
}

RingGraph linked_graph(int size, int links) {
  return complete_graph(size, {.level = 0, .gb_per_s = 25.0 * links, .links = links});
}

ClusterRequest switched_hosts(int hosts, int kv_heads) {
  const ClusterHost host{.name = "host",
                         .local = complete_graph(8, {.level = 0, .gb_per_s = 370.0}),
                         .nic_of_gpu = {0, 1, 2, 3, 4, 5, 6, 7},
                         .nic_gb_per_s = 50};
  return {.hosts = std::vector<ClusterHost>(static_cast<std::size_t>(hosts), host), .kv_heads = kv_heads};
}

}  // namespace ringcomm::perf
