// SPDX-License-Identifier: Apache-2.0
// Properties that hold for every captured machine: names of files, numbers of GPUs and a common factor of all
// link counts say nothing; a value that is blanked becomes unknown and never a default; a missing id is an
// error.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "diag/topology_properties/mutate.hpp"
#include "ringcomm/diag/topology_checks.hpp"
#include "test_paths.hpp"

namespace ringcomm::topology_properties {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(RINGCOMM_SOURCE_DIR) / "../shared/data/topology";

std::vector<std::string> files() {
  std::vector<std::string> names;
  if (!std::filesystem::exists(kRoot)) return {"absent"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot)) {
    const std::string name = std::filesystem::relative(entry.path(), kRoot).string();
    if (entry.is_regular_file() && !name.starts_with("sysfs-ib") && name != "README.md")
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string text_of(const std::string& file) {
  std::ifstream stream(kRoot / file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

TopologyCase judged(MergedEvidence evidence) {
  return make_topology_case(std::move(evidence), CostModel::table());
}

class PropertyTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "absent") GTEST_SKIP() << "shared/data/topology is not here";
    auto reading = read_evidence(text_of(GetParam()), GetParam());
    if (!reading.is_ok()) {
      is_refused_ = true;
      return;
    }
    std::vector<Reading> readings;
    readings.push_back(std::move(reading).value());
    evidence_ = merge_evidence(std::move(readings));
  }

  bool is_refused_ = false;
  MergedEvidence evidence_{};
};

/// What a finding says, apart from names: id, severity, state, devices, number of evidence entries.
using Gist = std::tuple<std::string, Severity, CheckState, std::set<DeviceRef>, std::size_t>;
std::multiset<Gist> gist_of(const std::vector<Finding>& findings, const std::vector<int>& old_position = {}) {
  std::multiset<Gist> gists;
  for (const Finding& finding : findings) {
    std::set<DeviceRef> devices;
    for (DeviceRef device : finding.devices) {
      if (device.kind == PartKind::gpu && !old_position.empty())
        device.position = old_position[static_cast<std::size_t>(device.position)];
      devices.insert(device);
    }
    gists.emplace(finding.id, finding.severity, finding.state, devices, finding.evidence.size());
  }
  return gists;
}

std::string text_of(const std::multiset<Gist>& gists) {
  std::string text;
  for (const auto& [id, severity, state, devices, count] : gists) {
    text += id + "/" + std::string(name_of(state)) + "/" + std::to_string(devices.size()) + "/" +
            std::to_string(count) + " ";
  }
  return text;
}

std::map<std::string, int> levels_of(const TopologyCase& made) {
  std::map<std::string, int> levels;
  const auto& order = made.rings.best.order;
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
    const int level = made.rings.graph.graph.at(order[i], order[(i + 1) % order.size()]).level;
    ++levels[made.rings.graph.level_names[static_cast<std::size_t>(level)]];
  }
  return levels;
}

/// The best ring as undirected edges between devices.
std::set<std::pair<DeviceRef, DeviceRef>> edges_of(const TopologyCase& made,
                                                   const std::vector<int>& old_position = {}) {
  std::set<std::pair<DeviceRef, DeviceRef>> edges;
  const auto& order = made.rings.best.order;
  const auto device = [&](int vertex) {
    DeviceRef found = made.rings.graph.devices[static_cast<std::size_t>(vertex)];
    if (found.kind == PartKind::gpu && !old_position.empty())
      found.position = old_position[static_cast<std::size_t>(found.position)];
    return found;
  };
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
    edges.insert(std::minmax(device(order[i]), device(order[(i + 1) % order.size()])));
  }
  return edges;
}

bool is_unique(const TopologyCase& made) {
  const auto& best = made.rings.best;
  const RingGraph& graph = made.rings.graph.graph;
  if (graph.size < 3 || graph.size > 8) return false;
  int worst = 0;
  for (std::size_t i = 0; i < best.order.size(); ++i) {
    worst = std::max(worst, graph.at(best.order[i], best.order[(i + 1) % best.order.size()]).level);
  }
  std::size_t same = 0;
  for (auto& order : rings_within(graph, worst, 5000)) {
    const auto one = judge_ring(graph, order);
    if (one.is_ok() && one.value().level_counts == best.level_counts) ++same;
  }
  return same == 1;
}

TEST_P(PropertyTest, NameOfTheFileSaysNothing) {
  if (is_refused_) return;
  auto renamed = read_evidence(text_of(GetParam()), "elsewhere.dat");
  ASSERT_TRUE(renamed.is_ok()) << renamed.status().to_string();
  std::vector<Reading> readings;
  readings.push_back(std::move(renamed).value());
  const auto there = check_topology(judged(merge_evidence(std::move(readings))));
  const auto here = check_topology(judged(evidence_));
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].id, here[i].id);
    EXPECT_EQ(there[i].title, here[i].title);
    ASSERT_EQ(there[i].evidence.size(), here[i].evidence.size());
    for (std::size_t e = 0; e < here[i].evidence.size(); ++e) {
      EXPECT_EQ(there[i].evidence[e].read, here[i].evidence[e].read);
      EXPECT_EQ(there[i].evidence[e].where.line, here[i].evidence[e].where.line);
    }
  }
}

TEST_P(PropertyTest, NumbersOfGpusSayNothing) {
  if (is_refused_) return;
  const TopologyCase here = judged(evidence_);
  const auto wanted = gist_of(check_topology(here));
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto order = shuffled_gpus(evidence_.machine, seed);
    const TopologyCase there = judged(with_gpus_in_order(evidence_, order));
    const auto found = gist_of(check_topology(there), order);
    EXPECT_EQ(found, wanted) << "seed " << seed << "\nfound  " << text_of(found) << "\nwanted "
                             << text_of(wanted);
    EXPECT_EQ(there.rings.best.level_counts, here.rings.best.level_counts) << "seed " << seed;
    EXPECT_EQ(there.rings.best.bottleneck_gb_per_s, here.rings.best.bottleneck_gb_per_s) << "seed " << seed;
    EXPECT_EQ(levels_of(there), levels_of(here)) << "seed " << seed;
    if (!is_unique(here)) continue;
    EXPECT_EQ(edges_of(there, order), edges_of(here)) << "seed " << seed;
  }
}

TEST_P(PropertyTest, CommonFactorOfLinkCountsSaysNothing) {
  if (is_refused_) return;
  const TopologyCase here = judged(evidence_);
  const TopologyCase there = judged(with_links_times(evidence_, 3));
  EXPECT_EQ(gist_of(check_topology(there)), gist_of(check_topology(here)));
  EXPECT_EQ(there.rings.best.level_counts, here.rings.best.level_counts);
  if (!is_unique(here)) return;
  EXPECT_EQ(edges_of(there), edges_of(here));
}

/// Ids whose problem is that a value is missing, or (port_down) that a port is down for a reason not known.
bool is_about_missing(const std::string& id) {
  return id == "numa_node_missing" || id == "topology_file_no_gpu" || id == "port_down";
}
/// The check that speaks for this one when a value is missing.
std::string unknown_id_of(const std::string& id) {
  return id == "port_down" || id == "port_disabled" || id == "port_polling" ? "port_state_unknown" : id;
}

/// Every problem is still there or has become unknown; none is new, neither as a finding nor for a device.
void expect_no_default_in_findings(const std::vector<Finding>& before, const std::vector<Finding>& after) {
  const auto problem = [](const std::vector<Finding>& findings, const Finding& like) -> const Finding* {
    for (const Finding& one : findings) {
      if (one.state == CheckState::problem && one.id == like.id && one.severity == like.severity) return &one;
    }
    return nullptr;
  };
  const auto has_unknown = [](const std::vector<Finding>& findings, const std::string& id) {
    return std::ranges::any_of(
        findings, [&](const Finding& one) { return one.id == id && one.state == CheckState::unknown; });
  };
  for (const Finding& old : before) {
    if (old.state != CheckState::problem) continue;
    const Finding* now = problem(after, old);
    const bool is_whole = now != nullptr && now->evidence.size() >= old.evidence.size();
    EXPECT_TRUE(is_whole || has_unknown(after, unknown_id_of(old.id))) << old.id << " is gone without a word";
  }
  for (const Finding& now : after) {
    if (now.state != CheckState::problem || is_about_missing(now.id)) continue;
    const Finding* old = problem(before, now);
    EXPECT_NE(old, nullptr) << now.id << " is new: " << now.title;
    if (old == nullptr) continue;
    EXPECT_LE(now.evidence.size(), old->evidence.size()) << now.id << ": " << now.title;
  }
}

/// A number is as before, or absent: nothing else was put in its place.
void expect_no_default_in_paths(const PathMatrix& before, const PathMatrix& after) {
  ASSERT_EQ(before.devices, after.devices);
  std::size_t said = 0;
  for (std::size_t i = 0; i < before.paths.size() && said < 3; ++i) {
    const auto& old = before.paths[i].bandwidth.gb_per_s;
    const auto& now = after.paths[i].bandwidth.gb_per_s;
    if (!now || now == old) continue;
    // A detour over another GPU was better; without the value the direct way is what is left, with its own
    // number.
    const PathClass old_class = before.paths[i].path_class;
    if (old_class == PathClass::pxn || old_class == PathClass::nvb) continue;
    // The table may stand in for evidence: its source says so, which is not silent.
    if (after.paths[i].bandwidth.source < before.paths[i].bandwidth.source) continue;
    ++said;
    ADD_FAILURE() << "path " << i / before.devices.size() << " to " << i % before.devices.size() << " had "
                  << (old ? std::to_string(*old) : std::string("nothing")) << " GB/s ("
                  << before.paths[i].reason << "), now " << *now << " (" << after.paths[i].reason << ")";
  }
}

TEST_P(PropertyTest, BlankedValueIsUnknownAndNoDefault) {
  if (is_refused_) return;
  const TopologyCase here = judged(evidence_);
  const auto before = check_topology(here);
  const std::size_t most = here.rings.graph.graph.size > 10 ? 3 : 12;
  for (const Blank& blank : blanks_of(evidence_, most)) {
    SCOPED_TRACE(blank.name);
    MergedEvidence changed = evidence_;
    blank.apply(changed);
    const TopologyCase there = judged(std::move(changed));
    expect_no_default_in_findings(before, check_topology(there));
    expect_no_default_in_paths(here.paths, there.paths);
  }
}

/// The text without the first such attribute at or after `first`; nothing when there is none.
std::optional<std::string> without(const std::string& text, const std::string& id, std::size_t first) {
  const std::size_t at = text.find(id, first);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = id.starts_with('<') ? at + id.find(' ') : at;
  std::string cut = text;
  cut.erase(begin, cut.find('"', at + id.size()) + 1 - begin);
  return cut;
}

TEST_P(PropertyTest, MissingIdIsAnError) {
  if (is_refused_) return;
  const std::string text = text_of(GetParam());
  const bool is_hwloc = GetParam().starts_with("hwloc-xml");
  std::vector<std::string> ids;
  if (GetParam().starts_with("nccl-topo-xml"))
    ids = {" busid=\"", " numaid=\"", "<gpu dev=\"", "<nvlink target=\""};
  if (is_hwloc) ids = {" pci_busid=\""};
  // a bridge without a bus id is a host bridge
  const std::size_t first = is_hwloc ? text.find("type=\"PCIDev\"") : 0;
  for (const std::string& id : ids) {
    const auto cut = without(text, id, first);
    if (!cut) continue;
    const auto reading = read_evidence(*cut, "cut.xml");
    if (id.starts_with(
            "<nvlink")) {  // a link without an end is kept as a link of unknown end, and its line is named
      ASSERT_TRUE(reading.is_ok()) << reading.status().to_string();
      EXPECT_TRUE(std::ranges::any_of(reading.value().skipped, [](const Skipped& one) {
        return one.reason.find("no target") != std::string::npos;
      }));
      continue;
    }
    ASSERT_FALSE(reading.is_ok()) << "without" << id;
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data) << reading.status().to_string();
  }
}

std::string readable(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, PropertyTest, testing::ValuesIn(files()), readable);

}  // namespace
}  // namespace ringcomm::topology_properties
