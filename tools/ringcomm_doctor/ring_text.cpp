// SPDX-License-Identifier: Apache-2.0
#include "ring_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

/// Rings of more ranks are not listed rank by rank unless asked.
constexpr std::size_t kRanksListed = 16;

class RingWriter {
 public:
  RingWriter(const TopologyCase& input, const TextStyle& style)
      : rings_(input.rings), machine_(input.evidence.machine), style_(style) {}

  std::string text() const {
    const std::vector<int>& order = rings_.best.order;
    if (order.size() == 1)
      return concat("Ring\n  One ", vertex_word(), ", so no ring: nothing to order.\n", one_rank());
    std::string out = headline();
    if (!machine_.has_link_evidence && is_of_gpus())
      out += wrap("  ", "NVLinks are not in the evidence: if there are any, this is not the best ring");
    out += set_text();
    if (order.size() <= kRanksListed || style_.explain || style_.verbose)
      out += steps_table();
    else
      out += concat("  (", order.size(), " ranks: --explain lists NIC, cores and edge of each)\n");
    if (style_.explain) out += explanation();
    return out + left_out();
  }

 private:
  bool is_of_gpus() const { return rings_.graph.devices.front().kind == PartKind::gpu; }
  std::string vertex_word() const { return is_of_gpus() ? "GPU" : "NUMA node"; }

  std::string headline() const {
    const RingOrder& best = rings_.best;
    const std::string slowest = slowest_level(rings_.graph, best.order);
    std::string out = wrap(concat("Best ring of ", vertex_word(), "s  "),
                           concat("[", order_text(machine_, rings_.graph, best.order), "]"));
    out +=
        wrap("  ", concat("slowest edge ", slowest, ", ",
                          best.bottleneck_gb_per_s ? speed(best.bottleneck_gb_per_s) : "bandwidth unknown",
                          "; edges ", level_counts(rings_.graph, best.order), "; ",
                          !is_any_edge_known(rings_) ? "no path is known, so no order is better than another"
                          : best.is_exact            ? "no better order exists"
                                                     : "found by search, perhaps not the best"));
    return out;
  }

  /// Several rings, or both directions of one.
  std::string set_text() const {
    const RingSet& set = rings_.rings;
    std::string out;
    if (set.rings.size() > 1) {
      std::string title = concat("  ", set.rings.size(), " link-disjoint rings",
                                 set.is_directed ? " (one way each)" : ", both directions", ", use ");
      title += concat(set.links_used, " of ", set.links_total, " links; split the heads over them\n");
      out += title;
      for (const RingOrder& ring : set.rings) {
        out += wrap("    ",
                    fmt::format("{:3.0f} % [{}]  slowest {}, {}", 100 * ring.share,
                                order_text(machine_, rings_.graph, ring.order),
                                slowest_level(rings_.graph, ring.order), speed(ring.bottleneck_gb_per_s)));
      }
    } else if (set.explanation.empty() && !set.rings.empty() && set.rings.front().both_directions) {
      out += "  both directions at once: half of the heads each way\n";
    }
    if (!set.explanation.empty() && (style_.explain || set.rings.size() < 2))
      out += wrap("  ", set.explanation);
    return out;
  }

  const NicChoice* nic_of(int vertex) const {
    const DeviceRef device = rings_.graph.devices[static_cast<std::size_t>(vertex)];
    for (const NicChoice& choice : rings_.nics) {
      if (device.kind == PartKind::gpu && choice.gpu == device.position) return &choice;
    }
    return nullptr;
  }

  /// "mlx5_1" where the port is a device of its own, else "mlx5_0:2".
  static std::string port_text(const Nic& nic, int number) {
    const auto name = port_name(nic, number);
    const bool is_own = name && std::count_if(nic.ports.begin(), nic.ports.end(), [&](const Port& port) {
                                  const auto other = port_name(nic, port.number);
                                  return other && other->device == name->device;
                                }) == 1;
    return is_own ? name->device : concat(nic.name, ":", number);
  }

  std::string nic_text(int vertex) const {
    const NicChoice* choice = nic_of(vertex);
    if (choice == nullptr || !choice->nic)
      return machine_.nics.empty() && !machine_.has_nic_evidence ? "?" : "-";
    const Nic& nic = machine_.nics[static_cast<std::size_t>(*choice->nic)];
    const std::string port = choice->port && nic.ports.size() > 1 ? port_text(nic, *choice->port) : nic.name;
    return concat(port, " ", name_of(choice->path_class));
  }

  std::string cores_text(int vertex) const {
    const auto position = static_cast<std::size_t>(vertex);
    if (position >= rings_.placements.size()) return "?";
    const Placement& placement = rings_.placements[position];
    const std::string cpus = placement.cpus.empty() ? "?" : cpu_list(placement.cpus);
    return placement.memory_node < 0 ? cpus : concat(cpus, " (NUMA ", placement.memory_node, ")");
  }

  std::string one_rank() const {
    std::string out = concat("  cores ", cores_text(0));
    if (nic_of(0) != nullptr) out += concat(", NIC ", nic_text(0));
    return concat(out, "\n");
  }

  std::string steps_table() const {
    const std::vector<int>& order = rings_.best.order;
    const std::size_t best = best_position(rings_);
    const std::vector<RingStep> none;
    const std::vector<RingStep>& steps = best < rings_.steps.size() ? rings_.steps[best] : none;
    std::size_t name_width = 4, level_width = 4, nic_width = 3;
    for (std::size_t i = 0; i < order.size(); ++i) {
      name_width = std::max(name_width, name(order[i]).size());
      nic_width = std::max(nic_width, nic_text(order[i]).size());
      if (i < steps.size()) level_width = std::max(level_width, steps[i].level.size());
    }
    const std::size_t arrow = style_.ascii ? 2 : 1;
    std::string out =
        concat("  ", fit("rank", name_width + name_width + arrow + 2), "  ", fit("path", level_width), "  ",
               fit("bandwidth", 19), "  ", fit("NIC", nic_width), "  cores\n");
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int next = order[(i + 1) % order.size()];
      const bool has_step = i < steps.size();
      std::string line = concat("  ", fit(name(order[i]), name_width), " ", style_.ascii ? "->" : "→", " ",
                                fit(name(next), name_width));
      line += concat("  ", fit(has_step ? steps[i].level : "?", level_width), "  ",
                     fit(has_step ? speed(steps[i].bandwidth) : "?", 19), "  ",
                     fit(nic_text(order[i]), nic_width), "  ", cores_text(order[i]));
      out += concat(shorten(line, kScreenColumns), "\n");
    }
    for (const RingStep& step : steps) {  // why there is a '?', once
      if (!step.bandwidth.gb_per_s)
        return out + wrap("  ? ", concat(name_of(machine_, step.from), "-", name_of(machine_, step.to), ": ",
                                         step.reason));
    }
    return out;
  }

  std::string name(int vertex) const {
    return name_of(machine_, rings_.graph.devices[static_cast<std::size_t>(vertex)]);
  }

  std::string explanation() const {
    std::string out = "  Why\n";
    for (std::size_t ring = 0; ring < rings_.steps.size(); ++ring) {
      const bool is_in_set = ring < rings_.rings.rings.size();
      const std::vector<int>& order = is_in_set ? rings_.rings.rings[ring].order : rings_.best.order;
      out += wrap("    ring ", concat("[", order_text(machine_, rings_.graph, order), "]"));
      for (const RingStep& step : rings_.steps[ring]) {
        const char* arrow = style_.ascii ? "->" : "→";
        out +=
            wrap("      ", concat(name_of(machine_, step.from), " ", arrow, " ", name_of(machine_, step.to),
                                  ": ", step.level, ", ", speed(step.bandwidth), "; ", step.reason));
      }
    }
    for (const NicChoice& choice : rings_.nics) {
      const std::string nic = choice.nic ? machine_.nics[static_cast<std::size_t>(*choice.nic)].name : "none";
      out += wrap("    ", concat("NIC of ", name_of(machine_, {PartKind::gpu, choice.gpu}), ": ", nic,
                                 choice.reason.empty() ? "" : "; ", choice.reason));
    }
    return out;
  }

  /// Active ports of planned NICs that no GPU was given.
  std::vector<std::string> idle_ports() const {
    std::vector<std::string> idle;
    for (std::size_t i = 0; i < machine_.nics.size(); ++i) {
      const auto is_here = [&](const NicChoice& choice) { return choice.nic == static_cast<int>(i); };
      if (std::none_of(rings_.nics.begin(), rings_.nics.end(), is_here)) continue;
      for (const Port& port : machine_.nics[i].ports) {
        const bool is_used =
            std::any_of(rings_.nics.begin(), rings_.nics.end(), [&](const NicChoice& choice) {
              return is_here(choice) && choice.port.value_or(port.number) == port.number;
            });
        const bool is_up = port.state == PortState::active || port.state == PortState::unknown;
        if (is_up && !is_used) idle.push_back(port_text(machine_.nics[i], port.number));
      }
    }
    return idle;
  }

  std::string left_out() const {
    std::string out;
    std::map<std::string, std::vector<std::string>> reasons;
    for (const ExcludedNic& excluded : rings_.excluded)
      reasons[excluded.reason].push_back(name_of(machine_, {PartKind::nic, excluded.nic}));
    for (const auto& [reason, names] : reasons)
      out += wrap("  not used: ", concat(list_of(names, 16), " (", reason, ")"));
    if (const auto idle = idle_ports(); !idle.empty())
      out += wrap("  idle ports: ", concat(list_of(idle, 16), " (the plan gives every GPU one port)"));
    for (const int gpu : rings_.left_out) {
      out += wrap("  ", concat("better left out of the ring: ", name_of(machine_, {PartKind::gpu, gpu}),
                               " (no NVLink, its peers have)"));
    }
    return out;
  }

  const MachineRings& rings_;
  const Machine& machine_;
  const TextStyle& style_;
};

}  // namespace

std::string ring_text(const TopologyCase& input, const TextStyle& style) {
  if (!input.rings_status.is_ok()) return concat("Ring\n", wrap("  ", input.rings_status.message()));
  if (input.rings.graph.devices.empty()) return "Ring\n  No device is known that could be in a ring.\n";
  return RingWriter(input, style).text();
}

}  // namespace ringcomm::doctor
