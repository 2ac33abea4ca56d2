// SPDX-License-Identifier: Apache-2.0
#include "host_text.hpp"

#include <algorithm>
#include <set>

#include "finding_text.hpp"
#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

std::string value_or(const std::optional<std::uint64_t>& bytes, std::string_view otherwise) {
  return bytes ? format_bytes(*bytes) : std::string(otherwise);
}

std::string versions_of(const HostFacts& facts) {
  std::string text;
  for (const auto& [name, version] : facts.versions)
    text += concat(text.empty() ? "" : ", ", name, " ", version);
  return text;
}

std::string nodes_of(const HostFacts& facts) {
  std::string text;
  for (const auto& [node, cpus] : facts.node_cpus)
    text += concat(text.empty() ? "" : "; ", "NUMA", node,
                   cpus.empty() ? ": no CPUs" : concat(": CPUs ", cpu_list(cpus)));
  return text.empty() ? "memory nodes unknown" : text;
}

std::string one_host(const HostFacts& facts, const std::string& ranks) {
  const Limits& limits = facts.limits;
  std::string text =
      wrap("", concat("Host ", facts.host_name.empty() ? "?" : facts.host_name,
                      facts.host_address.empty() ? "" : concat(" (", facts.host_address, ")"), ranks));
  text += wrap("  software  ", versions_of(facts));
  text += wrap("  CPUs      ", concat("may use ", cpu_list(facts.cpus_allowed), " (", limits.usable_cpus(),
                                      " usable), ", nodes_of(facts)));
  text += wrap("  memory    ", concat(format_bytes(limits.memory_available_bytes), " available, cgroup ",
                                      limits.cgroup, " limit ", value_or(limits.memory_limit_bytes, "none"),
                                      ", /dev/shm ", value_or(facts.shm_free_bytes, "?"), " free"));
  text += wrap("  limits    ", concat("locked ", value_or(limits.locked_bytes, "unlimited"), ", file size ",
                                      value_or(limits.file_size_bytes, "unlimited"), ", open files ",
                                      facts.open_files_max ? concat(*facts.open_files_max) : "unlimited"));
  return text;
}

std::string hosts_text(const std::vector<HostFacts>& facts) {
  std::string text;
  std::set<std::string> seen;
  for (const HostFacts& host : facts) {
    if (!seen.insert(host.boot_id).second) continue;
    const auto ranks =
        std::ranges::count_if(facts, [&](const HostFacts& f) { return f.boot_id == host.boot_id; });
    text += one_host(host, facts.size() > 1 ? concat(", ", ranks, " of ", facts.size(), " ranks") : "");
  }
  return text;
}

}  // namespace

std::string host_text(const std::vector<HostFacts>& facts, const std::vector<Finding>& findings,
                      int exit_code, const TextStyle& style) {
  std::vector<Finding> shown;
  std::size_t good = 0;
  std::vector<std::string> unknown;
  for (const Finding& finding : findings) {
    if (finding.state == CheckState::ok) ++good;
    if (finding.state == CheckState::unknown) unknown.push_back(finding.id);
    if (style.verbose || finding.state == CheckState::problem) shown.push_back(finding);
  }
  std::ranges::stable_sort(shown, [](const Finding& a, const Finding& b) {
    const auto weight = [](const Finding& f) {
      return f.state == CheckState::problem   ? 2 + static_cast<int>(f.severity)
             : f.state == CheckState::unknown ? 1
                                              : 0;
    };
    return weight(a) > weight(b);
  });
  std::string text = concat("ringcomm-doctor env: ", count_of(facts.size(), "rank"), "\n", hosts_text(facts));
  text += finding_text(shown, style);
  if (!unknown.empty() && !style.verbose) text += wrap("  unknown   ", list_of(unknown));
  const std::string counts = concat(good, " of ", findings.size(), " checks ok",
                                    unknown.empty() ? "" : concat(", ", unknown.size(), " not known"));
  const auto worst = std::ranges::find_if(
      shown, [](const Finding& f) { return f.state == CheckState::problem && f.severity != Severity::info; });
  const std::string first = worst == shown.end() ? "" : concat("; begin with ", worst->id);
  return text + wrap("Verdict: ", concat(counts, first, " (exit code ", exit_code, ")"));
}

}  // namespace ringcomm::doctor
