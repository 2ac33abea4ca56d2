// SPDX-License-Identifier: Apache-2.0
// Which host a reading is of, and what is of no host: texts, notes, contradictions.
#include <set>

#include "topology/merge/merger.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// NCCL's host_hash is a number in place of a name: it can be the hash of any name.
bool is_hash(const std::string& name) { return name.starts_with("0x"); }

bool may_be_one_host(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b || is_hash(a) != is_hash(b);
}

bool has_devices(const Machine& machine) {
  return !machine.gpus.empty() || !machine.nics.empty() || !machine.numa_nodes.empty() ||
         !machine.pci.empty() || !machine.packages.empty() || !machine.cores.empty();
}

}  // namespace

std::optional<int> moved(const std::vector<int>& positions, int position) {
  if (position < 0 || static_cast<std::size_t>(position) >= positions.size()) return std::nullopt;
  const int there = positions[static_cast<std::size_t>(position)];
  return there < 0 ? std::nullopt : std::optional(there);
}

std::optional<int> moved(const std::vector<int>& positions, std::optional<int> position) {
  return position ? moved(positions, *position) : std::nullopt;
}

std::optional<DeviceRef> moved(const Positions& positions, DeviceRef device) {
  const auto& of_kind = device.kind == PartKind::gpu   ? positions.gpus
                        : device.kind == PartKind::nic ? positions.nics
                                                       : positions.numa_nodes;
  const auto position = moved(of_kind, device.position);
  if (!position) return std::nullopt;
  return DeviceRef{device.kind, *position};
}

std::string text_of(const std::vector<int>& cpus) { return cpus.empty() ? "none" : cpu_list_text(cpus); }

void Merger::add_host_names(const Reading& reading) {
  auto hosts = reading.machine.hosts;
  if (hosts.empty() && has_devices(reading.machine)) hosts.emplace_back();
  auto& known = merged_.machine.hosts;
  std::vector<int> positions;
  for (const Host& host : hosts) {
    auto found = std::ranges::find_if(
        known, [&](const Host& other) { return !host.name.empty() && other.name == host.name; });
    // Files of one machine need not agree on its name, or have one.
    if (found == known.end() && hosts.size() == 1 && known.size() == 1 &&
        may_be_one_host(known[0].name, host.name))
      found = known.begin();
    if (found == known.end() && hosts.size() == 1 && host.name.empty() && !known.empty()) {
      note({reading.file, 0}, reading.format,
           concat("does not say which of ", known.size(), " hosts it is of: taken for host 0"));
      found = known.begin();
    }
    if (found == known.end()) {
      positions.push_back(static_cast<int>(known.size()));
      known.push_back(host);
      continue;
    }
    positions.push_back(static_cast<int>(found - known.begin()));
    if (found->name.empty() || (is_hash(found->name) && !host.name.empty())) found->name = host.name;
    fill_quietly(found->product, host.product);
    fill_quietly(found->is_virtual, host.is_virtual);
  }
  hosts_of_readings_.push_back(std::move(positions));
}

void Merger::fill(std::string& target, const std::string& value, const std::string& subject,
                  const Where& where) {
  if (value.empty()) return;
  if (target.empty()) {
    target = value;
    origins_.emplace(subject, where);
  } else if (target != value) {
    contradict(subject, target, value, where);
  }
}

void Merger::contradict(const std::string& subject, std::string first, std::string second,
                        const Where& where) {
  const auto origin = origins_.find(subject);
  merged_.contradictions.push_back({.subject = subject,
                                    .first = std::move(first),
                                    .first_where = origin == origins_.end() ? Where{} : origin->second,
                                    .second = std::move(second),
                                    .second_where = where});
}

void Merger::note(const Where& where, std::string_view text, std::string reason) {
  add_skipped(merged_.skipped, where, text, std::move(reason));
}

std::string Merger::name_on(int host, const std::string& name) const {
  return merged_.machine.hosts.size() > 1 ? concat("host", host, '/', name) : name;
}

}  // namespace ringcomm::inline v0::topology
