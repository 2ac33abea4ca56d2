// SPDX-License-Identifier: Apache-2.0
#include "diag/topology_facts/facts.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "test_paths.hpp"

namespace ringcomm::topology_facts {
namespace {

const RingGraph& graph(const FactCase& it) { return it.made.rings.graph.graph; }

/// The number that a vertex goes by.
int label(const FactCase& it, int vertex) {
  const DeviceRef device = it.made.rings.graph.devices[static_cast<std::size_t>(vertex)];
  const auto position = static_cast<std::size_t>(device.position);
  return device.kind == PartKind::gpu ? it.machine().gpus[position].index
                                      : it.machine().numa_nodes[position].id;
}

int vertex_of(const FactCase& it, int wanted) {
  for (int vertex = 0; vertex < graph(it).size; ++vertex) {
    if (label(it, vertex) == wanted) return vertex;
  }
  ADD_FAILURE() << it.file << " has no device " << wanted;
  return 0;
}

DeviceRef gpu_ref(const FactCase& it, int index, int host = 0) {
  const auto& gpus = it.machine().gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].index == index && gpus[i].host == host)
      return {.kind = PartKind::gpu, .position = static_cast<int>(i)};
  }
  ADD_FAILURE() << it.file << " has no GPU" << index;
  return {.kind = PartKind::gpu, .position = -1};
}

DeviceRef nic_ref(const FactCase& it, std::string_view name) {
  const auto& nics = it.machine().nics;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if (nics[i].name == name) return {.kind = PartKind::nic, .position = static_cast<int>(i)};
  }
  ADD_FAILURE() << it.file << " has no NIC " << name;
  return {.kind = PartKind::nic, .position = -1};
}

const Path& path(const FactCase& it, DeviceRef a, DeviceRef b) {
  static const Path kNone;
  const auto& paths = it.made.paths;
  const std::size_t from = paths.find(a);
  const std::size_t to = paths.find(b);
  if (from >= paths.devices.size() || to >= paths.devices.size()) return kNone;
  return paths.at(from, to);
}

int home_of(const FactCase& it, int vertex) {
  const DeviceRef device = it.made.rings.graph.devices[static_cast<std::size_t>(vertex)];
  const auto position = static_cast<std::size_t>(device.position);
  if (device.kind == PartKind::gpu) return it.machine().gpus[position].numa_node.value_or(-1);
  return it.machine().numa_nodes[position].package.value_or(-1);
}

}  // namespace

std::filesystem::path data_root() {
  return std::filesystem::path(RINGCOMM_SOURCE_DIR) / "../shared/data/topology";
}

const FactCase& case_of_file(const std::string& file) {
  static std::map<std::string, FactCase> cases;
  const auto known = cases.find(file);
  if (known != cases.end()) return known->second;
  FactCase& made = cases[file];
  made.file = file;
  const std::vector<std::filesystem::path> paths{data_root() / file};
  std::vector<UnreadFile> unread;
  made.readings = read_evidence_paths(paths, unread);
  made.made = make_topology_case(merge_evidence(made.readings), CostModel::table(), unread);
  made.findings = check_topology(made.made);
  return made;
}

const Gpu& gpu(const FactCase& it, int index, int host) {
  static const Gpu kNone;
  const DeviceRef device = gpu_ref(it, index, host);
  return device.position < 0 ? kNone : it.machine().gpus[static_cast<std::size_t>(device.position)];
}

const Nic& nic(const FactCase& it, std::string_view name) {
  static const Nic kNone;
  const DeviceRef device = nic_ref(it, name);
  return device.position < 0 ? kNone : it.machine().nics[static_cast<std::size_t>(device.position)];
}

const NumaNode& node(const FactCase& it, int id, int host) {
  static const NumaNode kNone;
  for (const NumaNode& one : it.machine().numa_nodes) {
    if (one.id == id && one.host == host) return one;
  }
  ADD_FAILURE() << it.file << " has no NUMA" << id;
  return kNone;
}

std::size_t cpu_count(const FactCase& it) {
  std::set<int> cpus;
  for (const NumaNode& one : it.machine().numa_nodes) {
    if (one.cpus) cpus.insert(one.cpus->begin(), one.cpus->end());
  }
  return cpus.size();
}

std::vector<int> numa_ids(const FactCase& it) {
  std::vector<int> ids;
  for (const NumaNode& one : it.machine().numa_nodes) ids.push_back(one.id);
  return ids;
}

std::vector<int> numa_of_gpus(const FactCase& it) {
  std::vector<int> ids;
  for (const Gpu& one : it.machine().gpus) ids.push_back(one.numa_node.value_or(-1));
  return ids;
}

PathClass between_gpus(const FactCase& it, int a, int b) {
  return path(it, gpu_ref(it, a), gpu_ref(it, b)).path_class;
}

std::optional<int> nvlinks(const FactCase& it, int a, int b) {
  return path(it, gpu_ref(it, a), gpu_ref(it, b)).nvlinks;
}

PathClass gpu_to_nic(const FactCase& it, int index, std::string_view name) {
  return path(it, gpu_ref(it, index), nic_ref(it, name)).path_class;
}

std::string nic_for(const FactCase& it, int index) {
  const DeviceRef device = gpu_ref(it, index);
  for (const NicChoice& choice : it.made.rings.nics) {
    if (choice.gpu == device.position && choice.nic)
      return it.machine().nics[static_cast<std::size_t>(*choice.nic)].name;
  }
  return "none";
}

bool is_excluded(const FactCase& it, std::string_view name) {
  const DeviceRef device = nic_ref(it, name);
  return std::ranges::any_of(it.made.rings.excluded,
                             [&](const ExcludedNic& out) { return out.nic == device.position; });
}

void expect_all_pairs(const FactCase& it, PathClass path_class, std::optional<int> links) {
  const auto& gpus = it.machine().gpus;
  for (const Gpu& a : gpus) {
    for (const Gpu& b : gpus) {
      if (a.index == b.index) continue;
      EXPECT_EQ(name_of(between_gpus(it, a.index, b.index)), name_of(path_class))
          << a.index << " to " << b.index;
      if (!links) continue;
      EXPECT_EQ(nvlinks(it, a.index, b.index), links) << a.index << " to " << b.index;
    }
  }
}

std::map<std::string, int> levels_of(const FactCase& it, const std::vector<int>& order) {
  std::map<std::string, int> levels;
  std::vector<int> vertices;
  for (const int number : order) vertices.push_back(vertex_of(it, number));
  for (std::size_t i = 0; vertices.size() > 1 && i < vertices.size(); ++i) {
    const int level = graph(it).at(vertices[i], vertices[(i + 1) % vertices.size()]).level;
    ++levels[it.made.rings.graph.level_names[static_cast<std::size_t>(level)]];
  }
  return levels;
}

std::map<std::string, int> best_levels(const FactCase& it) { return levels_of(it, best_order(it)); }

std::vector<int> best_order(const FactCase& it) {
  EXPECT_TRUE(it.made.rings_status.is_ok()) << it.made.rings_status.to_string();
  std::vector<int> order;
  for (const int vertex : it.made.rings.best.order) order.push_back(label(it, vertex));
  return order;
}

bool is_same_ring(std::vector<int> a, std::vector<int> b) {
  if (a.size() != b.size() || a.empty()) return false;
  for (int way = 0; way < 2; ++way) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a == b) return true;
      std::rotate(a.begin(), a.begin() + 1, a.end());
    }
    std::ranges::reverse(a);
  }
  return false;
}

std::size_t best_ring_count(const FactCase& it) {
  const auto& best = it.made.rings.best;
  int worst = 0;
  for (std::size_t i = 0; i < best.order.size(); ++i) {
    worst = std::max(worst, graph(it).at(best.order[i], best.order[(i + 1) % best.order.size()]).level);
  }
  std::size_t count = 0;
  for (auto& order : rings_within(graph(it), worst, 5000)) {
    const auto judged = judge_ring(graph(it), order);
    EXPECT_TRUE(judged.is_ok());
    if (judged.is_ok() && judged.value().level_counts == best.level_counts) ++count;
  }
  return count;
}

int numa_crossings(const FactCase& it) {
  const auto& order = it.made.rings.best.order;
  int crossings = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (home_of(it, order[i]) != home_of(it, order[(i + 1) % order.size()])) ++crossings;
  }
  return crossings;
}

bool has_problem(const FactCase& it, std::string_view id) { return finding(it, id).has_value(); }

std::optional<Finding> finding(const FactCase& it, std::string_view id, CheckState state) {
  for (const Finding& one : it.findings) {
    if (one.id == id && one.state == state) return one;
  }
  return std::nullopt;
}

void expect_healthy(const FactCase& it) {
  for (const Finding& one : it.findings) {
    const bool is_bad = one.state == CheckState::problem && one.severity != Severity::info;
    EXPECT_FALSE(is_bad) << it.file << ": " << one.id << ": " << one.title;
  }
}

std::vector<LogEvent> events(const FactCase& it, LogEventKind kind) {
  std::vector<LogEvent> found;
  for (const LogEvent& event : it.made.evidence.job.events) {
    if (event.kind == kind) found.push_back(event);
  }
  return found;
}

const PciDevice& function_of(const FactCase& it, const PciBusId& bus) {
  static const PciDevice kNone;
  for (const PciDevice& device : it.machine().pci) {
    if (device.id == bus) return device;
  }
  ADD_FAILURE() << it.file << " has no PCI function " << bus.to_text();
  return kNone;
}

const PciDevice* bridge_above(const FactCase& it, const PciBusId& bus) {
  const PciDevice& device = function_of(it, bus);
  return device.parent ? &it.machine().pci[static_cast<std::size_t>(*device.parent)] : nullptr;
}

PciBusId bus_id(std::string_view text) {
  const auto parsed = parse_pci_bus_id(text);
  EXPECT_TRUE(parsed.is_ok()) << text;
  return parsed.is_ok() ? parsed.value() : PciBusId();
}

}  // namespace ringcomm::topology_facts
