// SPDX-License-Identifier: Apache-2.0
#include "host_json.hpp"

namespace ringcomm::doctor {
namespace {

/// Writes or reads one field after the other, so that both directions list the same ones.
class Writer {
 public:
  template <class T>
  void field(const char* name, const T& value) {
    json[name] = value;
  }
  template <class T>
  void field(const char* name, const std::optional<T>& value) {
    json[name] = json_of(value);
  }
  void field(const char* name, const std::map<int, std::vector<int>>& nodes) {
    Json& object = json[name] = Json::object();
    for (const auto& [node, cpus] : nodes) object[std::to_string(node)] = cpus;
  }
  Json json = Json::object();
};

class Reader {
 public:
  explicit Reader(const Json& from) : json(from) {}
  template <class T>
  void field(const char* name, T& value) {
    value = json.at(name).get<T>();
  }
  template <class T>
  void field(const char* name, std::optional<T>& value) {
    if (!json.at(name).is_null()) value = json.at(name).get<T>();
  }
  void field(const char* name, std::map<int, std::vector<int>>& nodes) {
    for (const auto& [node, cpus] : json.at(name).items())
      nodes[std::stoi(node)] = cpus.get<std::vector<int>>();
  }
  const Json& json;
};

template <class Archive, class Facts>
void limits_of(Archive& archive, Facts& facts) {
  auto& limits = facts.limits;
  archive.field("cgroup", limits.cgroup);
  archive.field("memory_limit_bytes", limits.memory_limit_bytes);
  archive.field("memory_used_bytes", limits.memory_used_bytes);
  archive.field("memory_available_bytes", limits.memory_available_bytes);
  archive.field("cpu_quota", limits.cpu_quota);
  archive.field("cpus_allowed_count", limits.cpus_allowed);
  archive.field("file_size_bytes_max", limits.file_size_bytes);
  archive.field("locked_bytes_max", limits.locked_bytes);
  archive.field("open_files_max", facts.open_files_max);
  archive.field("processes_max", facts.processes_max);
  archive.field("throttled_periods", facts.throttled_periods);
}

template <class Archive, class Facts>
void fields_of(Archive& archive, Facts& facts) {
  archive.field("host_name", facts.host_name);
  archive.field("host_address", facts.host_address);
  archive.field("boot_id", facts.boot_id);
  archive.field("namespaces", facts.namespaces);
  archive.field("versions", facts.versions);
  archive.field("variables", facts.variables);
  archive.field("config_files", facts.config_files);
  limits_of(archive, facts);
  archive.field("shm_free_bytes", facts.shm_free_bytes);
  archive.field("shm_total_bytes", facts.shm_total_bytes);
  archive.field("cpus_allowed", facts.cpus_allowed);
  archive.field("memory_nodes_allowed", facts.memory_nodes_allowed);
  archive.field("node_cpus", facts.node_cpus);
  archive.field("numa_balancing", facts.numa_balancing);
  archive.field("governor", facts.governor);
  archive.field("cpufreq_driver", facts.cpufreq_driver);
  archive.field("idle_latency_us_max", facts.idle_latency_us_max);
  archive.field("idle_state", facts.idle_state);
  archive.field("transparent_hugepage", facts.transparent_hugepage);
  archive.field("huge_pages", facts.huge_pages);
  archive.field("map_count_max", facts.map_count_max);
  archive.field("map_count", facts.map_count);
  archive.field("ptrace_scope", facts.ptrace_scope);
  archive.field("overcommit_memory", facts.overcommit_memory);
  archive.field("rdma_devices", facts.rdma_devices);
  archive.field("has_sysfs", facts.has_sysfs);
  archive.field("probes", facts.probes);
  archive.field("wall_clock_ns", facts.wall_clock_ns);
  archive.field("unread", facts.unread);
}

}  // namespace

Json host_json(const HostFacts& facts) {
  Writer writer;
  fields_of(writer, facts);
  return std::move(writer.json);
}

Json host_finding_json(const Finding& finding) {
  Json evidence = Json::array();
  for (const FindingEvidence& item : finding.evidence)
    evidence.push_back({{"read", item.read}, {"wanted", json_of(item.wanted)}});
  return {{"id", finding.id},
          {"severity", name_of(finding.severity)},
          {"state", name_of(finding.state)},
          {"title", finding.title},
          {"evidence", std::move(evidence)},
          {"fix", json_of(finding.fix)},
          {"needs_root", finding.needs_root}};
}

Result<HostFacts> parse_host(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Reader reader(json);
    HostFacts facts;
    fields_of(reader, facts);
    return facts;
  } catch (const std::exception& error) {
    return Status::corrupt_data(error.what());
  }
}

}  // namespace ringcomm::doctor
