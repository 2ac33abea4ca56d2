// SPDX-License-Identifier: Apache-2.0
// Ring graphs that the ring tests share.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/ring_order.hpp"

namespace ringcomm::tests {

inline RingGraph complete_graph(int size, RingEdge edge = {}) {
  return {.size = size, .edges = std::vector<RingEdge>(static_cast<std::size_t>(size * size), edge)};
}

inline void join(RingGraph& graph, int a, int b, const RingEdge& edge) {
  graph.at(a, b) = edge;
  graph.at(b, a) = edge;
}

/// One digit per pair, row by row: NVLinks, 0: SYS. Levels: 0 for NV2, 1 for NV1, 2 for SYS.
inline RingGraph nvlink_graph(const std::vector<std::string_view>& rows) {
  auto graph = complete_graph(static_cast<int>(rows.size()), {.level = 2, .gb_per_s = 9.0, .links = 0});
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const int links = rows[a][b] - '0';
      if (a != b && links > 0)
        graph.at(static_cast<int>(a), static_cast<int>(b)) = {
            .level = 2 - links, .gb_per_s = 25.0 * links, .links = links};
    }
  return graph;
}

inline RingGraph cube_mesh() {
  return nvlink_graph({"01122000", "10210200", "12020010", "21200001",  //
                       "20000112", "02001021", "00101202", "00012120"});
}

template <class Random>
RingGraph random_graph(Random& random, int size, int levels, bool is_symmetric, bool has_keys) {
  auto graph = complete_graph(size);
  for (int a = 0; a < size; ++a)
    for (int b = 0; b < size; ++b) {
      if (a == b) continue;
      graph.at(a, b).level = static_cast<int>(random() % static_cast<unsigned>(levels));
      if (is_symmetric && b < a) graph.at(a, b).level = graph.at(b, a).level;
    }
  if (has_keys) {
    graph.keys.resize(static_cast<std::size_t>(size));
    std::iota(graph.keys.begin(), graph.keys.end(), -3);
    std::shuffle(graph.keys.begin(), graph.keys.end(), random);
  }
  return graph;
}

/// Vertex v becomes to[v]; its key goes along.
inline RingGraph permuted(const RingGraph& graph, const std::vector<int>& to) {
  auto result = complete_graph(graph.size);
  for (int a = 0; a < graph.size; ++a)
    for (int b = 0; b < graph.size; ++b)
      result.at(to[static_cast<std::size_t>(a)], to[static_cast<std::size_t>(b)]) = graph.at(a, b);
  result.keys.resize(static_cast<std::size_t>(graph.size));
  for (int a = 0; a < graph.size; ++a)
    result.keys[static_cast<std::size_t>(to[static_cast<std::size_t>(a)])] =
        graph.keys.empty() ? a : graph.keys[static_cast<std::size_t>(a)];
  return result;
}

template <class Random>
std::vector<int> random_permutation(Random& random, int size) {
  std::vector<int> permutation(static_cast<std::size_t>(size));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end(), random);
  return permutation;
}

/// `hosts` cube meshes, level 3 between them, vertices shuffled.
template <class Random>
RingGraph shuffled_cube_meshes(Random& random, int hosts) {
  const auto mesh = cube_mesh();
  auto graph = complete_graph(hosts * 8, {.level = 3, .gb_per_s = 12.0, .links = 0});
  for (int host = 0; host < hosts; ++host)
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b) graph.at((host * 8) + a, (host * 8) + b) = mesh.at(a, b);
  auto result = permuted(graph, random_permutation(random, graph.size));
  result.keys.clear();
  return result;
}

}  // namespace ringcomm::tests
