// SPDX-License-Identifier: Apache-2.0
#include "diag/topology/job.hpp"

#include <algorithm>

#include "diag/topology/lookup.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// "NET/IB/5/GDRDMA" -> 5.
std::optional<int> net_of(std::string_view via) {
  if (!via.starts_with("NET/")) return std::nullopt;
  const std::size_t slash = via.find('/', 4);
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = number_in(via.substr(slash + 1));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// "3[2]" -> 2, the device; "3" -> 3.
std::optional<int> device_of(std::string_view end) {
  const std::size_t open = end.find('[');
  const auto number = number_in(open == std::string_view::npos ? end : end.substr(open + 1));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::vector<std::string> interfaces(const TopologyCase& input) {
  std::vector<std::string> names;
  for (const LogEvent* event : events_of(input, LogEventKind::interfaces)) {
    if (event->value("plugin") == "Socket") continue;
    names.clear();
    std::string_view rest = event->value("list");
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      names.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return names;
}

std::optional<std::size_t> nic_of_net(const Machine& machine, const std::vector<std::string>& names,
                                      int net) {
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    for (const Port& port : machine.nics[i].ports) {
      if (port.net_index == net) return i;
    }
  }
  if (net < 0 || static_cast<std::size_t>(net) >= names.size()) return std::nullopt;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (machine.nics[i].name == names[static_cast<std::size_t>(net)]) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<NicUse> nic_uses(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  const auto names = interfaces(input);
  std::vector<NicUse> uses;
  for (const LogEvent* event : events_of(input, LogEventKind::transport)) {
    const auto net = net_of(event->value("via"));
    if (!net) continue;
    NicUse use{.gpu = {}, .nic = nic_of_net(machine, names, *net), .net = *net, .where = event->where};
    const auto device = device_of(event->value("from"));
    for (std::size_t i = 0; device && i < machine.gpus.size(); ++i) {
      if (machine.gpus[i].index == *device && machine.gpus[i].host == 0) use.gpu = i;
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

std::set<std::string> nets_used(const TopologyCase& input) {
  std::set<std::string> nets;
  for (const NicUse& use : nic_uses(input)) nets.insert(concat(use.net));
  if (nets.empty()) {
    for (const std::string& name : interfaces(input)) nets.insert(name);
  }
  return nets;
}

std::vector<std::size_t> usable_nics(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const bool is_out = std::ranges::any_of(
        input.rings.excluded, [&](const ExcludedNic& nic) { return nic.nic == static_cast<int>(i); });
    if (machine.nics[i].is_rdma && !is_out) usable.push_back(i);
  }
  return usable;
}

}  // namespace ringcomm::inline v0::diag
