// SPDX-License-Identifier: Apache-2.0
// How devices, numbers and CPU lists are written, the same everywhere in the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::doctor {

/// "0-3,8,10-11"; "none" when empty.
std::string cpu_list(std::vector<int> cpus);
/// "40 GB/s", or "?" when unknown.
std::string speed(const std::optional<double>& gb_per_s);
/// "40 GB/s (table)".
std::string speed(const Bandwidth& bandwidth);
/// "NV18", "PIX", "X", "?".
std::string class_word(const Path& path);
/// "3b:00.0", with the domain only where the machine has several.
std::string short_bus(const Machine& machine, const PciBusId& bus);
/// Vertices of a ring as people number them: GPU indices on one host ("0 3 2 1"), else positions in the
/// graph.
int vertex_number(const Machine& machine, const MachineGraph& graph, int vertex);
std::string order_text(const Machine& machine, const MachineGraph& graph, const std::vector<int>& order,
                       const char* between = " ");
/// The slowest level among an order's edges: "SYS"; empty for fewer than two vertices.
std::string slowest_level(const MachineGraph& graph, const std::vector<int>& order);
/// "2 x SYS, 6 x NV2": edges per level, worst first.
std::string level_counts(const MachineGraph& graph, const std::vector<int>& order);
/// Position of `best` in the set of rings, or the number of rings (its steps are then the last ones).
std::size_t best_position(const MachineRings& rings);

/// The class of an edge of the best ring is known; else no order can be called better than another.
bool is_any_edge_known(const MachineRings& rings);

}  // namespace ringcomm::doctor
