// SPDX-License-Identifier: Apache-2.0
// Which NIC serves which GPU, and NICs that differ between hosts (spec checks 37 to 40).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/job.hpp"
#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

PathClass class_between(const TopologyCase& input, std::size_t gpu, std::size_t nic) {
  const Path* path = path_between(input, gpu_ref(gpu), nic_ref(nic));
  return path ? path->path_class : PathClass::unknown;
}

PathClass nearest(const TopologyCase& input, std::size_t gpu) {
  PathClass best = PathClass::unknown;
  for (const std::size_t nic : usable_nics(input)) best = std::min(best, class_between(input, gpu, nic));
  return best;
}

/// The paths from all GPUs of its host to the NIC are known.
bool is_known_to_all(const TopologyCase& input, std::size_t nic) {
  const Machine& machine = input.evidence.machine;
  if (machine.gpus.empty()) return true;  // evidence of NICs alone: none was left out for its distance
  if (!has_place(machine, nic_ref(nic))) return false;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    if (machine.gpus[gpu].host != machine.nics[nic].host) continue;
    if (class_between(input, gpu, nic) == PathClass::unknown) return false;
  }
  return true;
}

bool has_switch(const Machine& machine) {
  return std::ranges::any_of(machine.links, [](const Link& link) { return link.end == LinkEnd::nvswitch; });
}

std::string names_of_nics(const Machine& machine, const std::vector<std::size_t>& nics) {
  std::vector<std::string> names;
  for (const std::size_t nic : nics) names.push_back(machine.nics[nic].name);
  return joined(names, ",");
}

/// PXN sends over NVLink to a peer that has a NIC.
bool has_nvlink(const Machine& machine) {
  return std::ranges::any_of(machine.links, [](const Link& link) { return link.kind == LinkKind::nvlink; }) ||
         std::ranges::any_of(machine.stated_paths,
                             [](const StatedPath& path) { return path.path_class == PathClass::nvl; });
}

/// "NCCL_IB_HCA==mlx5_0,mlx5_1": exact names ("="), as NCCL otherwise takes each for a prefix. Where a name
/// is not known: how to learn it.
std::string hca_list(const Machine& machine, const std::vector<std::size_t>& nics, std::string_view sign) {
  std::vector<std::string> names;
  for (const std::size_t position : nics) {
    const auto devices = device_names(machine.nics[position]);
    if (devices.empty())
      return concat("the device name of ", name_of(machine, nic_ref(position)),
                    " is not in the evidence: nvidia-smi topo -m with its NIC legend has it");
    for (const std::string& device : devices) {
      if (std::ranges::find(names, device) == names.end()) names.push_back(device);
    }
  }
  return concat("export NCCL_IB_HCA=", sign, joined(names, ","));
}

/// NCCL's rules: a list of prefixes, of names with '=', of what is left out with '^'; ports do not matter.
bool is_used_by(std::string_view list, const Nic& nic) {
  const bool is_inverted = list.starts_with('^');
  if (is_inverted) list.remove_prefix(1);
  const bool is_exact = list.starts_with('=');
  if (is_exact) list.remove_prefix(1);
  const auto devices = device_names(nic);
  bool is_listed = false;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, std::min(comma, list.find(':')));
    is_listed = is_listed || (!word.empty() && std::ranges::any_of(devices, [&](const std::string& device) {
                  return is_exact ? device == word : device.starts_with(word);
                }));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return !devices.empty() && is_listed != is_inverted;
}

void judge_used_nics(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const NicUse& use : nic_uses(input)) {
    if (!use.gpu || !use.nic || !seen.insert({*use.gpu, *use.nic}).second) continue;
    const PathClass now = class_between(input, *use.gpu, *use.nic);
    const PathClass best = nearest(input, *use.gpu);
    if (now == PathClass::unknown || best == PathClass::unknown) {
      report.unknown(concat("path from ", name_of(machine, gpu_ref(*use.gpu)), " to ",
                            name_of(machine, nic_ref(*use.nic)), " is not in the evidence"),
                     Ask::topo_matrix, use.where, {gpu_ref(*use.gpu), nic_ref(*use.nic)});
      continue;
    }
    report.looked();
    if (now < PathClass::node || best >= now) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(*use.gpu)), " uses ",
                                   name_of(machine, nic_ref(*use.nic)), ": ", name_of(now)),
                    .wanted = concat(name_of(best), ", which another NIC has"),
                    .where = use.where},
                   {gpu_ref(*use.gpu)});
  }
}

}  // namespace

void check_nic_far_from_gpu(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_used_nics(input, report);
  std::vector<std::size_t> choice;
  for (const NicChoice& nic : input.rings.nics) {
    if (nic.nic) choice.push_back(static_cast<std::size_t>(*nic.nic));
  }
  report.word({.title = concat(report.devices_text(machine), " uses a far NIC while a nearer one is there"),
               .fix = concat(hca_list(machine, choice, "="), "; UCX_NET_DEVICES=<the rank's own>:<port>")});
  if (report.problems() > 0) return;
  // Without a job: GPUs whose best NIC is at another socket while other GPUs have one nearby.
  std::map<PathClass, std::vector<DeviceRef>> by_class;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    // Of all NICs: one of unknown place may be the near one, though the plan leaves it out.
    bool is_known = has_place(machine, gpu_ref(i));
    bool has_nic = false;
    for (std::size_t nic = 0; nic < machine.nics.size(); ++nic) {
      if (!machine.nics[nic].is_rdma || machine.nics[nic].host != machine.gpus[i].host) continue;
      has_nic = true;
      is_known =
          is_known && has_place(machine, nic_ref(nic)) && class_between(input, i, nic) != PathClass::unknown;
    }
    if (!has_nic) continue;
    if (!is_known) {
      report.unknown(
          concat("the place of ", name_of(machine, gpu_ref(i)), " or of a NIC is not in the evidence"),
          Ask::topo_matrix, machine.gpus[i].where, {gpu_ref(i)});
      continue;
    }
    const PathClass best = nearest(input, i);
    if (best != PathClass::unknown) by_class[best].push_back(gpu_ref(i));
  }
  if (by_class.empty()) return;
  report.looked();
  const auto far = by_class.find(PathClass::sys);
  if (far == by_class.end() || by_class.size() < 2) return;
  report.problem({.read = concat(names_text(machine, far->second), ": no NIC nearer than SYS"),
                  .wanted = concat(name_of(by_class.begin()->first), ", as ",
                                   names_text(machine, by_class.begin()->second)),
                  .where = machine.gpus[static_cast<std::size_t>(far->second.front().position)].where},
                 far->second, Severity::info);
  report.word(
      {.title = concat(names_text(machine, far->second), far->second.size() == 1 ? " has" : " have",
                       " no NIC nearer than SYS"),
       .fix = has_nvlink(machine) ? "let ranks on these GPUs send over a GPU that has a NIC near it (PXN), "
                                    "or leave them last in the ring"
                                  : "leave ranks on these GPUs last in the ring"},
      Severity::info);
}

void check_nics_idle(const TopologyCase& input, Report& report) {
  const auto used = nets_used(input);
  const auto usable = usable_nics(input);
  if (used.empty() || usable.empty()) return;
  report.looked();
  if (used.size() >= usable.size()) return;
  const Machine& machine = input.evidence.machine;
  std::vector<DeviceRef> devices;
  for (const std::size_t nic : usable) devices.push_back(nic_ref(nic));
  report.problem({.read = concat(counted(used.size(), "NIC"), " used"),
                  .wanted = concat(usable.size(), ": ", names_of_nics(machine, usable))},
                 devices);
  report.word({.title = concat("the job uses ", used.size(), " of ", usable.size(), " usable NICs"),
               .fix = hca_list(machine, usable, "=")});
}

void check_nic_not_a_rail(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const auto wanted = variable_of(input, "NCCL_IB_HCA");
  std::vector<std::size_t> excluded;
  for (const ExcludedNic& out : input.rings.excluded) {
    const auto nic = static_cast<std::size_t>(out.nic);
    if (nic >= machine.nics.size() || !machine.nics[nic].is_rdma) continue;
    const bool is_down = std::ranges::any_of(machine.nics[nic].ports, [](const Port& port) {
      return port.state != PortState::active && port.state != PortState::unknown;
    });
    if (is_down) continue;  // port_down and its kin say so
    if (!is_known_to_all(input, nic)) {
      report.unknown(concat("the place of ", name_of(machine, nic_ref(nic)), " is not in the evidence"),
                     Ask::topo_matrix, machine.nics[nic].where, {nic_ref(nic)});
      continue;
    }
    excluded.push_back(nic);
    const bool is_used = wanted && !wanted->empty() && is_used_by(*wanted, machine.nics[nic]);
    report.problem({.read = concat(name_of(machine, nic_ref(nic)), ": ", out.reason),
                    .wanted = "left out of the rails",
                    .where = machine.nics[nic].where},
                   {nic_ref(nic)}, is_used ? std::nullopt : std::optional(Severity::info));
  }
  if (!machine.nics.empty()) report.looked();
  const std::string fix = hca_list(machine, excluded, "^=");
  report.word(
      {.title = concat("the job's NIC list holds ", report.devices_text(machine), ", which is no rail"),
       .fix = fix});
  report.word({.title = concat(report.devices_text(machine, Severity::info),
                               " is no rail and is left out of the plan"),
               .fix = fix},
              Severity::info);
}

void check_hca_sets_differ(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (machine.hosts.size() < 2) return;
  const auto rate_of = [](const Nic& nic) {
    return nic.ports.empty() ? std::nullopt : nic.ports.front().gbit_per_s;
  };
  bool has_rates = true;  // else names alone are compared: an unknown rate is no other rate
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (!machine.nics[i].is_rdma || rate_of(machine.nics[i])) continue;
    has_rates = false;
    report.unknown(concat("rate of ", name_of(machine, nic_ref(i)), " is not in the evidence"), Ask::ib,
                   machine.nics[i].where, {nic_ref(i)});
  }
  std::map<std::string, std::vector<int>> sets;
  for (std::size_t host = 0; host < machine.hosts.size(); ++host) {
    std::vector<std::string> words;
    for (const Nic& nic : machine.nics) {
      if (nic.host != static_cast<int>(host) || !nic.is_rdma) continue;
      words.push_back(has_rates ? concat(nic.name, " ", rate_of(nic).value_or(0)) : nic.name);
    }
    std::ranges::sort(words);
    sets[joined(words)].push_back(static_cast<int>(host));
  }
  report.looked();
  if (sets.size() < 2) return;
  for (const auto& [words, hosts] : sets) {
    report.problem({.read = concat(counted(hosts.size(), "host"), " (host", hosts.front(),
                                   "): ", words.empty() ? "no RDMA NIC" : words),
                    .wanted = "the same NICs on every host"},
                   {});
  }
  report.word({.title = concat("hosts have ", sets.size(), " different sets of RDMA NICs"),
               .fix = "give every host the same devices (device plugin, --device); do not set "
                      "NCCL_IGNORE_NET_MISMATCH"});
}

void check_no_rdma_nic(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (machine.gpus.empty() || !machine.has_nic_evidence) return;
  report.looked();
  for (std::size_t host = 0; host < std::max<std::size_t>(machine.hosts.size(), 1); ++host) {
    if (is_rdma_host(machine, static_cast<int>(host))) continue;
    std::vector<DeviceRef> nics;
    for (std::size_t i = 0; i < machine.nics.size(); ++i) {
      if (machine.nics[i].host == static_cast<int>(host)) nics.push_back(nic_ref(i));
    }
    // Without any NIC nothing is known of the network, and one host alone needs none.
    if (nics.empty()) continue;
    report.problem({.read = concat("only ", names_text(machine, nics), ", without GPUDirect RDMA"),
                    .wanted = has_switch(machine) ? "RDMA NICs: hosts with NVSwitch have some"
                                                  : "RDMA NICs, where several hosts take part",
                    .where = machine.nics[static_cast<std::size_t>(nics.front().position)].where},
                   nics, has_switch(machine) ? std::nullopt : std::optional(Severity::info));
  }
  report.word({.title = "no RDMA NIC is visible on a machine with NVSwitch: a container without its devices?",
               .fix = "start the container with --device=/dev/infiniband --cap-add=IPC_LOCK"});
  report.word({.title = "no RDMA NIC is visible: several hosts would talk over sockets", .fix = ""},
              Severity::info);
}

}  // namespace ringcomm::inline v0::diag
