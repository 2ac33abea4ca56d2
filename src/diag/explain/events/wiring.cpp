// SPDX-License-Identifier: Apache-2.0
// Evidence of the machine's wiring: the checks of a machine, put into kinds of fault.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct KindOfFinding {
  std::string_view id;
  FaultKind kind;
};
constexpr std::array<KindOfFinding, 23> kKinds{{
    {"nvlink_inactive", FaultKind::nvlink_fault},
    {"nvlink_missing_on_gpu", FaultKind::nvlink_fault},
    {"nvlink_fewer_than_peers", FaultKind::nvlink_fault},
    {"fabric_not_ready", FaultKind::nvlink_fault},
    {"gpu_memory_errors", FaultKind::gpu_fault},
    {"acs_redirect", FaultKind::p2p_path_broken},
    {"p2p_refused", FaultKind::p2p_path_broken},
    {"port_down", FaultKind::network_fault},
    {"port_disabled", FaultKind::network_fault},
    {"port_polling", FaultKind::network_fault},
    {"port_errors", FaultKind::network_fault},
    {"port_mtu", FaultKind::net_config},
    {"gid_index", FaultKind::net_config},
    {"gpu_direct_one_side", FaultKind::net_config},
    {"qp_failure", FaultKind::net_config},
    {"verbs_missing", FaultKind::net_config},
    {"bootstrap_interface", FaultKind::net_config},
    {"firewall", FaultKind::net_config},
    {"shm_too_small", FaultKind::resource_limit},
    {"memlock_low", FaultKind::resource_limit},
    {"versions_differ", FaultKind::version_mismatch},
    {"gpu_used_twice", FaultKind::rank_gpu_binding},
    {"hca_sets_differ", FaultKind::topology_mismatch},
}};

FaultKind kind_of(const Finding& finding) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&finding](const KindOfFinding& entry) { return entry.id == finding.id; });
  return found == kKinds.end() ? FaultKind::topology_suboptimal : found->kind;
}

bool is_of_hardware(FaultKind kind) {
  return kind == FaultKind::nvlink_fault || kind == FaultKind::gpu_fault;
}

/// "3" for a GPU of the only host, else "GPU 3 of host".
std::vector<std::string> gpu_labels(const Machine& machine, const Finding& finding) {
  std::vector<std::string> labels;
  for (const DeviceRef& device : finding.devices) {
    if (device.kind != PartKind::gpu || device.position < 0 ||
        static_cast<std::size_t>(device.position) >= machine.gpus.size()) {
      continue;
    }
    const Gpu& gpu = machine.gpus[static_cast<std::size_t>(device.position)];
    labels.push_back(machine.hosts.size() <= 1 ? std::to_string(gpu.rank.value_or(gpu.index))
                                               : name_of(machine, device));
  }
  return sorted_labels(std::move(labels));
}

std::vector<std::string> names_of(const Machine& machine, const Finding& finding) {
  std::vector<std::string> names;
  for (const DeviceRef& device : finding.devices) {
    if (device.position >= 0) names.push_back(name_of(machine, device));
  }
  return sorted_labels(std::move(names));
}

void add_finding(const TopologyCase& machine, const Finding& finding, bool is_hang,
                 std::vector<Candidate>& out) {
  Candidate candidate;
  Verdict& verdict = candidate.verdict;
  verdict.kind = kind_of(finding);
  const bool is_hardware = is_of_hardware(verdict.kind);
  candidate.weight = is_hang && is_hardware ? Weight::ordinary : Weight::background;
  candidate.rule = "wiring";
  // What a tool states of a part is certain; that a job suffers from it is not.
  const bool is_stated = is_hardware && finding.severity == Severity::failure;
  verdict.grade = is_stated && !is_hang                                   ? Grade::certain
                  : is_hang || verdict.kind == FaultKind::p2p_path_broken ? Grade::possible
                                                                          : Grade::likely;
  const Machine& parts = machine.evidence.machine;
  const std::vector<std::string> gpus = gpu_labels(parts, finding);
  const bool is_few = gpus.size() * 2 < parts.gpus.size();
  if (is_hardware && is_few && finding.severity == Severity::failure) {
    verdict.culprits = gpus;
  } else {
    verdict.suspects = names_of(parts, finding);
  }
  if (!parts.gpus.empty() && parts.hosts.size() <= 1)
    verdict.world_size = static_cast<int>(parts.gpus.size());
  verdict.title = finding.title;
  verdict.why = {finding.title};
  constexpr std::size_t kMost = 8;
  for (const FindingEvidence& read : finding.evidence) {
    if (verdict.evidence.size() >= kMost) break;
    verdict.evidence.push_back({read.where, read.read.substr(0, 200), read.wanted});
  }
  if (!is_hardware && !finding.fix.empty()) verdict.fix = concat(finding.fix, " (", finding.id, ')');
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_wiring(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& readings = side.evidence().topology;
  if (readings.empty()) return;
  const bool is_hang = side.is_about_a_hang();
  const TopologyCase machine = make_topology_case(merge_evidence(readings), CostModel::table());
  const std::vector<Finding> findings = check_topology(machine);
  bool has_problem = false;
  for (const Finding& finding : findings) {
    if (finding.state != CheckState::problem || finding.severity == Severity::info ||
        !finding.cause.empty()) {
      continue;
    }
    has_problem = true;
    const FaultKind kind = kind_of(finding);
    // Beside a hang, wiring that costs bandwidth is no explanation.
    if (is_hang && kind == FaultKind::topology_suboptimal) continue;
    add_finding(machine, finding, is_hang, out);
    return;
  }
  const Machine& parts = machine.evidence.machine;
  if (has_problem || is_hang || parts.gpus.empty()) return;
  Candidate candidate;
  candidate.weight = Weight::background;
  candidate.rule = "healthy_wiring";
  candidate.verdict.kind = FaultKind::none;
  candidate.verdict.grade = Grade::likely;
  candidate.verdict.title = concat("The wiring of ", parts.gpus.size(), " GPUs shows nothing wrong");
  candidate.verdict.why = {"No check of the machine found a problem in these files."};
  if (parts.hosts.size() <= 1) candidate.verdict.world_size = static_cast<int>(parts.gpus.size());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
