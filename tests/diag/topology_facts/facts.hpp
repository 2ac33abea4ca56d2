// SPDX-License-Identifier: Apache-2.0
// Facts of the captured machines as assertions: what a file's row in the README says, checked on the machine,
// paths, rings and findings that are made of the file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::topology_facts {

std::filesystem::path data_root();

/// One file, read and judged.
struct FactCase {
  std::string file{};
  std::vector<Reading> readings{};
  TopologyCase made{};
  std::vector<Finding> findings{};

  const Machine& machine() const { return made.evidence.machine; }
};
/// Read once per process.
const FactCase& case_of_file(const std::string& file);

/// `clause` counts the ;-clauses of the row's facts from 1 and starts with `begins`.
struct Fact {
  std::string_view file;
  int clause;
  std::string_view begins;
  void (*check)(const FactCase& it);
};
std::span<const Fact> hwloc_facts();
std::span<const Fact> nccl_facts();
std::span<const Fact> matrix_facts();
std::span<const Fact> other_facts();

/// A fact that no assertion covers, and why.
struct OpenFact {
  std::string_view file;
  int clause;
  std::string_view begins;
  std::string_view reason;
};
std::span<const OpenFact> open_facts();

// Questions. A GPU is named by (host, index), a NIC by its name; asking for one that is not there fails the
// test and answers for an empty device.
const Gpu& gpu(const FactCase& it, int index, int host = 0);
const Nic& nic(const FactCase& it, std::string_view name);
const NumaNode& node(const FactCase& it, int id, int host = 0);
/// PU numbers of all nodes.
std::size_t cpu_count(const FactCase& it);
std::vector<int> numa_ids(const FactCase& it);
std::vector<int> numa_of_gpus(const FactCase& it);

PathClass between_gpus(const FactCase& it, int a, int b);
std::optional<int> nvlinks(const FactCase& it, int a, int b);
PathClass gpu_to_nic(const FactCase& it, int index, std::string_view name);
/// The planner's choice.
std::string nic_for(const FactCase& it, int index);
bool is_excluded(const FactCase& it, std::string_view name);
/// All pairs have this class (and count of NVLinks).
void expect_all_pairs(const FactCase& it, PathClass path_class, std::optional<int> links = {});

/// Edges of a ring by level name ("NV2", "SYS").
std::map<std::string, int> levels_of(const FactCase& it, const std::vector<int>& order);
std::map<std::string, int> best_levels(const FactCase& it);
/// The best ring's devices by GPU index, or node id.
std::vector<int> best_order(const FactCase& it);
/// The same ring: turned or reversed.
bool is_same_ring(std::vector<int> a, std::vector<int> b);
/// How many rings have the best ring's cost.
std::size_t best_ring_count(const FactCase& it);
/// Edges of the best ring between GPUs (or nodes) of different NUMA nodes (or packages).
int numa_crossings(const FactCase& it);

bool has_problem(const FactCase& it, std::string_view id);
std::optional<Finding> finding(const FactCase& it, std::string_view id,
                               CheckState state = CheckState::problem);
/// No problem of these severities or worse.
void expect_healthy(const FactCase& it);
std::vector<LogEvent> events(const FactCase& it, LogEventKind kind);

/// The function, and the first bridge above it.
const PciDevice& function_of(const FactCase& it, const PciBusId& bus);
const PciDevice* bridge_above(const FactCase& it, const PciBusId& bus);
PciBusId bus_id(std::string_view text);

}  // namespace ringcomm::topology_facts
