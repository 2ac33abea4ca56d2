// SPDX-License-Identifier: Apache-2.0
#include "machine_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "labels.hpp"
#include "places.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

/// Boxes of a machine with more nodes than this fold memory-only nodes and empty ones into a line.
constexpr std::size_t kPlacesShown = 16;

/// NVLinks (or xGMI links) of a GPU as far as its own links are listed.
std::optional<int> links_of(const Machine& machine, int gpu) {
  std::optional<int> count;
  for (const Link& link : machine.links) {
    if (link.gpu != gpu || link.kind == LinkKind::c2c || !link.count) continue;
    count = count.value_or(0) + *link.count;
  }
  return count;
}

bool is_xgmi(const Machine& machine) {
  return std::any_of(machine.links.begin(), machine.links.end(),
                     [](const Link& link) { return link.kind == LinkKind::xgmi; });
}

std::string rate_of(const Nic& nic) {
  std::optional<double> sum;
  for (const Port& port : nic.ports) {
    if (port.gbit_per_s) sum = sum.value_or(0) + *port.gbit_per_s;
  }
  return sum ? fmt::format("{:.4g} Gb/s", *sum) : "rate ?";
}

std::string state_of(const Nic& nic) {
  const bool is_down = std::any_of(nic.ports.begin(), nic.ports.end(), [](const Port& port) {
    return port.state != PortState::active && port.state != PortState::unknown;
  });
  return is_down ? "  NOT ACTIVE" : std::string();
}

/// The bus id only where it tells a management NIC apart: beside a GPU the path says more.
std::string nic_label(const Machine& machine, const Nic& nic, bool is_alone) {
  std::string text = nic.name;
  const std::string bus = nic.bus ? short_bus(machine, *nic.bus) : std::string();
  if (is_alone && !bus.empty() && nic.bus->to_text() != nic.name) text += concat(" ", bus);
  if (nic.ports.size() > 1) text += concat(" ", nic.ports.size(), " ports");
  const std::string rate = rate_of(nic);
  if (rate != "rate ?") text += concat(" ", rate);
  return concat(text, nic.is_rdma ? "" : " sockets only", state_of(nic));
}

class BoxWriter {
 public:
  BoxWriter(const TopologyCase& input, const TextStyle& style)
      : input_(input), machine_(input.evidence.machine), style_(style) {}

  Box box_of(const PackagePlaces& package) {
    Box box{package.title, {}};
    // A package of unknown name with one node is that node.
    const bool is_one = package.is_one_place && package.places.size() == 1;
    if (is_one) box.title += shorten(package.places.front().label, 60);
    for (const Place& place : package.places) {
      if (!is_one) box.lines.push_back(shorten(place.label, 44));
      add_devices(place, box);
    }
    return box;
  }

 private:
  const NicChoice* choice_of(int gpu) const {
    for (const NicChoice& choice : input_.rings.nics) {
      if (choice.gpu == gpu && choice.nic) return &choice;
    }
    return nullptr;
  }

  void add_devices(const Place& place, Box& box) {
    std::set<int> shown;
    const std::string_view dash = style_.ascii ? "-" : "─";
    for (const int position : place.gpus) {
      const Gpu& gpu = machine_.gpus[static_cast<std::size_t>(position)];
      std::string line = concat("  GPU", gpu.index);
      if (gpu.rank && machine_.hosts.size() > 1) line += concat(" rank ", *gpu.rank);
      if (gpu.bus) line += concat(" ", short_bus(machine_, *gpu.bus));
      const NicChoice* choice = choice_of(position);
      if (choice != nullptr && std::count(place.nics.begin(), place.nics.end(), *choice->nic) > 0) {
        const Nic& nic = machine_.nics[static_cast<std::size_t>(*choice->nic)];
        const bool is_first = shown.insert(*choice->nic).second;
        line += concat(" ", dash, dash, name_of(choice->path_class), dash, dash, " ",
                       is_first ? nic_label(machine_, nic, false) : nic.name);
      }
      box.lines.push_back(line);
    }
    for (const int position : place.nics) {
      if (!shown.contains(position))
        box.lines.push_back(
            concat("  ", nic_label(machine_, machine_.nics[static_cast<std::size_t>(position)], true)));
    }
  }

  const TopologyCase& input_;
  const Machine& machine_;
  const TextStyle& style_;
};

std::string gpu_kinds(const Machine& machine) {
  std::set<std::string> kinds;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.name.empty())
      kinds.insert(gpu.name);
    else if (gpu.compute_capability)
      kinds.insert(concat("sm_", *gpu.compute_capability));
  }
  return kinds.empty() ? std::string() : concat(" (", list_of({kinds.begin(), kinds.end()}, 2), ")");
}

std::string link_summary(const Machine& machine) {
  std::set<int> counts;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (const auto count = links_of(machine, static_cast<int>(i))) counts.insert(*count);
  }
  if (counts.empty()) return {};
  const bool has_switch = std::any_of(machine.links.begin(), machine.links.end(),
                                      [](const Link& link) { return link.end == LinkEnd::nvswitch; });
  const std::string range =
      counts.size() == 1 ? concat(*counts.begin()) : concat(*counts.begin(), " to ", *counts.rbegin());
  return concat("; ", range, is_xgmi(machine) ? " xGMI links" : " NVLinks", " per GPU",
                has_switch ? " to switches" : "");
}

std::string numa_summary(const Machine& machine) {
  const auto memory_only =
      static_cast<std::size_t>(std::count_if(machine.numa_nodes.begin(), machine.numa_nodes.end(),
                                             [](const NumaNode& node) { return node.is_memory_only(); }));
  const std::size_t nodes = machine.numa_nodes.size() - memory_only;
  if (machine.numa_nodes.empty()) return "NUMA nodes unknown";
  return concat(count_of(nodes, "NUMA node"),
                memory_only > 0 ? concat(" with CPUs, ", memory_only, " memory only") : std::string());
}

}  // namespace

std::string summary_of(const Machine& machine) {
  const std::string gpus = !machine.gpus.empty()
                               ? concat(count_of(machine.gpus.size(), "GPU"), gpu_kinds(machine))
                           : machine.has_gpu_evidence ? std::string("no GPU")
                                                      : std::string("GPUs unknown");
  const std::string nics = !machine.nics.empty()      ? count_of(machine.nics.size(), "NIC")
                           : machine.has_nic_evidence ? std::string("no NIC")
                                                      : std::string("NICs unknown");
  const std::string hosts =
      machine.hosts.size() > 1 ? concat(machine.hosts.size(), " hosts, ") : std::string();
  return concat(hosts, gpus, ", ", nics, ", ", numa_summary(machine), link_summary(machine));
}

std::string machine_text(const TopologyCase& input, const TextStyle& style) {
  const Machine& machine = input.evidence.machine;
  std::vector<PackagePlaces> packages = find_places(machine, input.paths);
  std::string note;
  std::size_t places = 0;
  for (const PackagePlaces& package : packages) places += package.places.size();
  if (places > kPlacesShown && !style.verbose) {
    std::size_t hidden = 0;
    for (PackagePlaces& package : packages) {
      hidden += std::erase_if(package.places,
                              [](const Place& place) { return place.gpus.empty() && place.nics.empty(); });
    }
    std::erase_if(packages, [](const PackagePlaces& package) { return package.places.empty(); });
    if (hidden > 0) note = concat(count_of(hidden, "NUMA node"), " without devices not drawn (--verbose)\n");
  }
  BoxWriter writer(input, style);
  std::vector<Box> boxes;
  boxes.reserve(packages.size());
  for (const PackagePlaces& package : packages) boxes.push_back(writer.box_of(package));
  return draw(boxes, style) + note;
}

}  // namespace ringcomm::doctor
