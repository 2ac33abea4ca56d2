// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/nccl_xml.hpp"
#include "topology/readers/pci_class.hpp"

namespace ringcomm::inline v0 {
namespace topology {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string hex(std::uint32_t value, int digits) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%0*x", digits, value);
  return text.data();
}

/// Comma groups of 32 bits, the highest first.
std::string mask_text(const std::vector<int>& cpus) {
  std::vector<std::uint32_t> groups(1, 0);
  for (const int cpu : cpus) {
    const auto group = static_cast<std::size_t>(cpu) / 32;
    if (group >= groups.size()) groups.resize(group + 1, 0);
    groups[group] |= 1U << (static_cast<unsigned>(cpu) % 32);
  }
  std::string text;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group)
    text += concat(text.empty() ? "" : ",", hex(*group, 8).substr(2));
  return text;
}

class Writer {
 public:
  explicit Writer(const Machine& machine)
      : machine_(machine), below_(machine.pci.size()), is_wanted_(machine.pci.size(), 0) {}

  std::string run() {
    find_tree();
    line(0, "<system version=\"1\">");
    for (const NumaNode& node : machine_.numa_nodes) {
      if (node.subtype != "GPUMemory") write_cpu(node);
    }
    for (int host = 0; host < static_cast<int>(std::max<std::size_t>(machine_.hosts.size(), 1)); ++host)
      write_unplaced(host);
    line(0, "</system>");
    return std::move(text_);
  }

 private:
  static std::size_t at(int position) { return static_cast<std::size_t>(position); }

  void line(int depth, std::string_view content) {
    text_ += concat(std::string(at(depth) * 2, ' '), content, "\n");
  }

  void find_tree() {
    for (std::size_t i = 0; i < machine_.pci.size(); ++i) {
      const PciDevice& device = machine_.pci[i];
      if (device.parent) below_[at(*device.parent)].push_back(static_cast<int>(i));
    }
    // What is known to be neither GPU nor NIC, nor above one, is left out, as NCCL does (BMC video has a
    // GPU's class).
    for (std::size_t i = 0; i < machine_.pci.size(); ++i) {
      const auto& code = machine_.pci[i].class_code;
      const bool is_leaf_of_use = code ? is_nic_class(*code) : below_[i].empty();
      const bool is_device = std::ranges::find(machine_.gpus, std::optional(static_cast<int>(i)),
                                               &Gpu::pci) != machine_.gpus.end() ||
                             std::ranges::find(machine_.nics, std::optional(static_cast<int>(i)),
                                               &Nic::pci) != machine_.nics.end();
      if (!is_leaf_of_use && !is_device) continue;
      for (std::optional<int> above = static_cast<int>(i); above && is_wanted_[at(*above)] == 0;
           above = machine_.pci[at(*above)].parent)
        is_wanted_[at(*above)] = 1;
    }
  }

  bool has_node(int host, std::optional<int> id) const {
    return id && std::ranges::any_of(machine_.numa_nodes, [&](const NumaNode& node) {
             return node.host == host && node.id == *id && node.subtype != "GPUMemory";
           });
  }
  std::size_t nodes_of(int host) const {
    return static_cast<std::size_t>(std::ranges::count(machine_.numa_nodes, host, &NumaNode::host));
  }

  void write_cpu(const NumaNode& node) {
    std::string tag = "<cpu";
    if (!machine_.hosts.empty() && machine_.hosts[at(node.host)].name.starts_with("0x"))
      add(tag, "host_hash", machine_.hosts[at(node.host)].name);
    add(tag, "numaid", std::to_string(node.id));
    if (node.cpus) add(tag, "affinity", mask_text(*node.cpus));
    add_cpu_type(tag, node);
    line(1, tag + ">");
    const auto is_here = [&](int host, std::optional<int> id) {
      return host == node.host && (id == node.id || (!id && node.id == -1));
    };
    write_devices(is_here, [&](const Nic& nic) {
      // NCCL itself lists an interface that is near to no CPU below each of them.
      return is_here(nic.host, nic.numa_node) ||
             (nic.host == node.host && !nic.numa_node && nodes_of(node.host) > 1);
    });
    line(1, "</cpu>");
  }

  void write_unplaced(int host) {
    const auto is_here = [&](int of_host, std::optional<int> id) {
      return of_host == host && !has_node(host, id) && !(!id && has_node(host, -1));
    };
    const auto is_nic_here = [&](const Nic& nic) {
      return is_here(nic.host, nic.numa_node) && (nic.numa_node || nodes_of(host) <= 1);
    };
    const std::size_t before = text_.size();
    write_devices(is_here, is_nic_here);
    if (text_.size() == before) return;
    std::string tag = "  <cpu";
    if (!machine_.hosts.empty() && machine_.hosts[at(host)].name.starts_with("0x"))
      add(tag, "host_hash", machine_.hosts[at(host)].name);
    add(tag, "numaid", "-1");
    text_.insert(before, tag + ">\n");
    line(1, "</cpu>");
  }

  void add_cpu_type(std::string& tag, const NumaNode& node) const {
    const Package* package = node.package ? &machine_.packages[at(*node.package)] : nullptr;
    for (const Package& other : machine_.packages) {
      if (package == nullptr && other.host == node.host) package = &other;
    }
    if (package == nullptr) return;
    if (!package->arch.empty()) add(tag, "arch", package->arch);
    if (!package->vendor.empty()) add(tag, "vendor", package->vendor);
    if (package->family) add(tag, "familyid", std::to_string(*package->family));
    if (package->model) add(tag, "modelid", std::to_string(*package->model));
  }

  /// In the machine's order, so that reading again gives the same order of GPUs and of NICs.
  template <class IsHere, class IsNicHere>
  void write_devices(IsHere is_here, IsNicHere is_nic_here) {
    std::vector<int> free_nics;
    for (std::size_t i = 0; i < machine_.nics.size(); ++i) {
      if (!machine_.nics[i].pci && is_nic_here(machine_.nics[i])) free_nics.push_back(static_cast<int>(i));
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < machine_.pci.size(); ++i) {
      const PciDevice& device = machine_.pci[i];
      if (device.parent || is_wanted_[i] == 0 || !is_here(device.host, device.numa_node)) continue;
      const int first = first_nic_below(static_cast<int>(i));
      while (next < free_nics.size() && first != kNone && free_nics[next] < first)
        write_nic(machine_.nics[at(free_nics[next++])], 2);
      write_pci(static_cast<int>(i), 2);
    }
    while (next < free_nics.size()) write_nic(machine_.nics[at(free_nics[next++])], 2);
    for (const Gpu& gpu : machine_.gpus) {
      if (gpu.pci || !is_here(gpu.host, gpu.numa_node)) continue;
      line(2, concat("<pci busid=\"", gpu.bus->to_text(), "\">"));
      write_gpu(gpu, 3);
      line(2, "</pci>");
    }
  }

  int first_nic_below(int pci) const {
    int first = kNone;
    for (std::size_t i = 0; i < machine_.nics.size(); ++i) {
      std::optional<int> above = machine_.nics[i].pci;
      for (std::size_t steps = 0; above && *above != pci && steps < machine_.pci.size(); ++steps)
        above = machine_.pci[at(*above)].parent;
      if (above == pci) first = std::min(first, static_cast<int>(i));
    }
    return first;
  }

  void write_pci(int position, int depth) {
    const PciDevice& device = machine_.pci[at(position)];
    std::string tag = "<pci";
    add(tag, "busid", device.id.to_text());
    if (device.class_code) add(tag, "class", hex(*device.class_code, 6));
    if (device.vendor) add(tag, "vendor", hex(*device.vendor, 4));
    if (device.device) add(tag, "device", hex(*device.device, 4));
    if (!device.link.speed_text.empty())
      add(tag, "link_speed", device.link.speed_text);
    else if (device.link.gt_per_s)
      add(tag, "link_speed", concat(*device.link.gt_per_s, " GT/s"));
    if (device.link.width) add(tag, "link_width", std::to_string(*device.link.width));
    line(depth, tag + ">");
    for (const Gpu& gpu : machine_.gpus) {
      if (gpu.pci == position) write_gpu(gpu, depth + 1);
    }
    for (const Nic& nic : machine_.nics) {
      if (nic.pci == position) write_nic(nic, depth + 1);
    }
    for (const int below : below_[at(position)]) {
      if (is_wanted_[at(below)] != 0) write_pci(below, depth + 1);
    }
    line(depth, "</pci>");
  }

  void write_nic(const Nic& nic, int depth) {
    const bool has_nets =
        std::ranges::any_of(nic.ports, [](const Port& port) { return port.net_index.has_value(); });
    // A static file names devices by their class alone; NCCL finds the ports.
    if (!has_nets) return;
    line(depth, "<nic>");
    for (const Port& port : nic.ports) {
      if (!port.net_index) continue;
      std::string tag = "<net";
      add(tag, "name", port.net_name.empty() ? nic.name : port.net_name);
      add(tag, "dev", std::to_string(*port.net_index));
      if (port.gbit_per_s)
        add(tag, "speed", std::to_string(static_cast<long long>(*port.gbit_per_s * 1000 + 0.5)));
      add(tag, "port", std::to_string(port.number));
      if (!nic.guid.empty()) add(tag, "guid", nic.guid);
      if (!nic.is_rdma) add(tag, "maxconn", "65536");  // what NCCL's socket plugin writes
      if (port.gpu_direct) add(tag, "gdr", *port.gpu_direct ? "1" : "0");
      line(depth + 1, tag + "/>");
    }
    line(depth, "</nic>");
  }

  void write_gpu(const Gpu& gpu, int depth) {
    if (!machine_.has_link_evidence) return;
    std::string tag = "<gpu";
    add(tag, "dev", std::to_string(gpu.index));
    if (gpu.compute_capability) add(tag, "sm", std::to_string(*gpu.compute_capability));
    if (gpu.rank) add(tag, "rank", std::to_string(*gpu.rank));
    if (gpu.gpu_direct) add(tag, "gdr", *gpu.gpu_direct ? "1" : "0");
    line(depth, tag + ">");
    for (const Link& link : machine_.links) {
      if (&machine_.gpus[at(link.gpu)] == &gpu) write_link(link, depth + 1);
    }
    line(depth, "</gpu>");
  }

  void write_link(const Link& link, int depth) {
    std::string tag = link.kind == LinkKind::c2c ? "<c2c" : "<nvlink";
    if (link.kind == LinkKind::c2c) {
      if (link.gb_per_s_each) add(tag, "bw", concat(*link.gb_per_s_each * 1000));
      if (link.count) add(tag, "count", std::to_string(*link.count));
      return line(depth, tag + "/>");
    }
    auto target = link.target;
    if (!target && link.end == LinkEnd::gpu && link.peer) target = machine_.gpus[at(*link.peer)].bus;
    if (!target) return line(depth, "<!-- an NVLink is left out: its target has no bus id -->");
    add(tag, "target", target->to_text());
    if (link.count) add(tag, "count", std::to_string(*link.count));
    if (const auto target_class = class_of_end(link)) add(tag, "tclass", hex(*target_class, 6));
    line(depth, tag + "/>");
  }

  std::optional<std::uint32_t> class_of_end(const Link& link) const {
    if (link.end == LinkEnd::nvswitch) return 0x068000;
    if (link.end == LinkEnd::numa_node) return 0x060400;
    if (link.end != LinkEnd::gpu || !link.peer) return std::nullopt;
    const auto pci = machine_.gpus[at(*link.peer)].pci;
    return pci ? machine_.pci[at(*pci)].class_code : std::nullopt;
  }

  static void add(std::string& tag, std::string_view name, std::string_view value) {
    tag += concat(" ", name, "=\"", escaped(value), "\"");
  }

  static constexpr int kNone = std::numeric_limits<int>::max();
  const Machine& machine_;
  std::vector<std::vector<int>> below_;  // beside Machine::pci
  std::vector<char> is_wanted_;          // beside Machine::pci
  std::string text_{};
};

}  // namespace
}  // namespace topology

namespace {

template <class T>
bool is_in(std::optional<int> position, const std::vector<T>& parts) {
  return !position || (*position >= 0 && static_cast<std::size_t>(*position) < parts.size());
}

/// Machines are made by readers, but also by hand.
bool has_only_positions_that_exist(const Machine& machine) {
  const auto is_host = [&](int host) {
    return host >= 0 && static_cast<std::size_t>(host) < std::max<std::size_t>(machine.hosts.size(), 1);
  };
  return std::ranges::all_of(
             machine.pci,
             [&](const PciDevice& d) { return is_in(d.parent, machine.pci) && is_host(d.host); }) &&
         std::ranges::all_of(machine.gpus,
                             [&](const Gpu& g) { return is_in(g.pci, machine.pci) && is_host(g.host); }) &&
         std::ranges::all_of(machine.nics,
                             [&](const Nic& n) { return is_in(n.pci, machine.pci) && is_host(n.host); }) &&
         std::ranges::all_of(machine.numa_nodes,
                             [&](const NumaNode& n) {
                               return is_in(n.package, machine.packages) && is_host(n.host) &&
                                      (!n.cpus || std::ranges::all_of(*n.cpus, [](int cpu) {
                                        return cpu >= 0 && cpu < 1 << 20;
                                      }));
                             }) &&
         std::ranges::all_of(machine.links, [&](const Link& l) {
           return is_in(l.gpu, machine.gpus) && (l.end != LinkEnd::gpu || is_in(l.peer, machine.gpus));
         });
}

}  // namespace

Result<std::string> write_nccl_topology(const Machine& machine) {
  if (!has_only_positions_that_exist(machine))
    return Status::invalid_argument("the machine refers to a part that it does not have");
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (machine.gpus[i].bus) continue;
    return Status::invalid_argument(
        concat(name_of(machine, {PartKind::gpu, static_cast<int>(i)}),
               " has no PCI bus id, by which NCCL's format names GPUs (add the XML of lstopo or NCCL)"));
  }
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::xgmi) continue;
    return Status::not_available(
        "NCCL's topology XML has no xGMI links (RCCL's version 2 is read, not written)");
  }
  return topology::Writer(machine).run();
}

}  // namespace ringcomm::inline v0
