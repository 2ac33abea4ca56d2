// SPDX-License-Identifier: Apache-2.0
// Distances: of memory nodes, and bandwidths of NVLink and xGMI between GPUs, switches and packages.
#include <algorithm>
#include <cmath>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/hwloc_builder.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {
namespace {

constexpr std::size_t kEndsMax = 1024;  // of one matrix: a million values

/// What hwloc counts for one NVLink of this GPU (topology-nvml.c: 20 GB/s for NVLink 1, 25 for 2 to 4), by
/// the chip's range of PCI device ids (pci.ids): GP100, GV100, GA100, GH100.
std::optional<double> gb_per_s_of_one_link(const PciDevice& device) {
  if (device.vendor != 0x10de || !device.device) return std::nullopt;
  const int id = *device.device;
  if (id >= 0x15f0 && id <= 0x15ff) return 20.0;
  if ((id >= 0x1db0 && id <= 0x1dff) || (id >= 0x20b0 && id <= 0x20ff) || (id >= 0x2300 && id <= 0x23ff))
    return 25.0;
  return std::nullopt;
}

void append_values(pugi::xml_node node, const char* element, std::vector<std::string>& out,
                   std::size_t count_max) {
  for (const auto child : node.children(element)) {
    for (const std::string_view word : words_of(child.text().get())) {
      if (out.size() > count_max) return;
      out.emplace_back(word);
    }
  }
}

}  // namespace

void Builder::add_distances(pugi::xml_node topology) {
  for (const auto object : topology.children("object")) {
    for (const auto node : object.children("distances")) add_numa_distances_of_format_1(node);
  }
  for (const auto node : topology.children()) {
    const std::string_view element = node.name();
    if (element != "distances2" && element != "distances2hetero") continue;
    const auto matrix = matrix_of(node);
    if (!matrix) continue;
    if (std::string_view(node.attribute("type").value()) == "NUMANode") {
      add_numa_distances(node, *matrix);
    } else if (matrix->name == "NVLinkBandwidth") {
      add_bandwidths(node, *matrix, LinkKind::nvlink);
    } else if (matrix->name == "XGMIBandwidth") {
      add_bandwidths(node, *matrix, LinkKind::xgmi);
    } else {
      skip(node, "distances that planning does not use");
    }
  }
}

std::optional<Builder::Matrix> Builder::matrix_of(pugi::xml_node node) {
  Matrix matrix;
  matrix.name = node.attribute("name").value();
  append_values(node, "indexes", matrix.ends, kEndsMax);
  std::vector<std::string> values;
  append_values(node, "u64values", values, kEndsMax * kEndsMax);
  for (const std::string& value : values) {
    const auto number = parse_count(value);
    if (!number) break;
    matrix.values.push_back(static_cast<std::uint64_t>(*number));
  }
  const std::size_t count = matrix.ends.size();
  if (count == 0 || count > kEndsMax || matrix.values.size() != count * count) {
    skip(node, "the matrix is cut or too large: not as many values as its ends need");
    return std::nullopt;
  }
  return matrix;
}

void Builder::add_numa_distances(pugi::xml_node node, const Matrix& matrix) {
  // Indexes are os numbers (the default of memory nodes), as our ids are.
  if (std::string_view(node.attribute("indexing").value()) == "gp")
    return skip(node, "distances of memory nodes by hwloc's own numbers");
  if (!matrix.name.empty() && matrix.name != "NUMALatency") return skip(node, "no latencies");
  const std::size_t count = matrix.ends.size();
  for (std::size_t i = 0; i < count * count; ++i) {
    const auto from = parse_count(matrix.ends[i / count]);
    const auto to = parse_count(matrix.ends[i % count]);
    if (!from || !to || matrix.values[i] > 10000) continue;
    machine_.numa_distances.push_back({.host = 0,
                                       .from = static_cast<int>(*from),
                                       .to = static_cast<int>(*to),
                                       .value = static_cast<int>(matrix.values[i])});
  }
}

/// Relative latencies times a base, for the objects of one depth in the file's order.
void Builder::add_numa_distances_of_format_1(pugi::xml_node node) {
  const std::size_t count = machine_.numa_nodes.size();
  const auto base = number_attribute(node, "latency_base");
  std::vector<double> values;
  for (const auto latency : node.children("latency"))
    values.push_back(number_attribute(latency, "value").value_or(0));
  if (!base || int_attribute(node, "nbobjs") != static_cast<int>(count) || values.size() != count * count ||
      count > kEndsMax)
    return skip(node, "distances that are not of the memory nodes");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = std::round(values[i] * *base);
    if (!(value > 0 && value < 10000)) continue;
    machine_.numa_distances.push_back({.host = 0,
                                       .from = machine_.numa_nodes[i / count].id,
                                       .to = machine_.numa_nodes[i % count].id,
                                       .value = static_cast<int>(value)});
  }
}

Builder::End Builder::end_of(std::string_view index, std::string_view type) const {
  const std::size_t colon = index.find(':');
  if (colon != std::string_view::npos) {
    type = index.substr(0, colon);
    index.remove_prefix(colon + 1);
  }
  const auto number = parse_count(index);
  if (!number) return {};
  std::optional<int> pci;
  if (type == "Package") {
    const auto package = package_by_gp_.find(*number);
    if (package != package_by_gp_.end()) return {EndKind::package, package->second};
  } else if (type == "PCIDev") {
    const auto found = pci_by_gp_.find(*number);
    if (found != pci_by_gp_.end()) pci = found->second;
  } else if (type == "OSDev") {
    for (const OsDevice& device : os_devices_) {
      if (gp_index_of(device.node) == number) pci = device.pci;
    }
  }
  if (!pci) return {};
  const auto gpu = std::ranges::find(machine_.gpus, pci, &Gpu::pci);
  if (gpu != machine_.gpus.end()) return {EndKind::gpu, static_cast<int>(gpu - machine_.gpus.begin())};
  if (nvswitches_.contains(*pci)) return {EndKind::nvswitch, *pci};
  return {};
}

/// The diagonal is 0 or 1000000, by hwloc's version, and says nothing.
void Builder::add_bandwidths(pugi::xml_node node, const Matrix& matrix, LinkKind kind) {
  const std::size_t count = matrix.ends.size();
  const std::string_view type = node.attribute("type").value();
  std::vector<End> ends;
  for (const std::string& end : matrix.ends) ends.push_back(end_of(end, type));
  if (std::ranges::any_of(ends, [](End end) { return end.kind == EndKind::none; }))
    skip(node, "an end of the matrix is no GPU, switch or package of this file");
  machine_.has_link_evidence = true;
  const Where where = document_.where(node);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count && ends[i].kind == EndKind::gpu; ++j) {
      const std::uint64_t mb_per_s = matrix.values[(i * count) + j];
      if (i != j && mb_per_s > 0 && ends[j].kind != EndKind::none)
        add_link(ends[i].position, ends[j], static_cast<double>(mb_per_s) / 1000, kind, where);
    }
  }
  state_paths(matrix, ends, where);
}

void Builder::add_link(int gpu, End end, double gb_per_s, LinkKind kind, const Where& where) {
  Link link;
  link.kind = kind;
  link.gpu = gpu;
  link.where = where;
  const auto position = static_cast<std::size_t>(end.position);
  if (end.kind == EndKind::gpu) {
    link.end = LinkEnd::gpu;
    link.peer = end.position;
    link.target = machine_.gpus[position].bus;
  } else if (end.kind == EndKind::nvswitch) {
    link.end = LinkEnd::nvswitch;
    link.target = machine_.pci[position].id;
  } else {
    link.end = LinkEnd::numa_node;
    const auto node = std::ranges::find_if(machine_.numa_nodes, [&](const NumaNode& other) {
      return other.package == end.position && !other.is_memory_only();
    });
    if (node != machine_.numa_nodes.end()) link.peer = static_cast<int>(node - machine_.numa_nodes.begin());
  }
  const auto pci = machine_.gpus[static_cast<std::size_t>(gpu)].pci;
  const auto each = pci ? gb_per_s_of_one_link(machine_.pci[static_cast<std::size_t>(*pci)]) : std::nullopt;
  if (each && std::fmod(gb_per_s, *each) == 0) {
    link.gb_per_s_each = each;
    link.count = static_cast<int>(gb_per_s / *each);
  }
  machine_.links.push_back(std::move(link));
}

/// Between two GPUs: what the matrix says, and through switches what the weaker GPU has to all of them. All
/// switches of a host count as one fabric, as in hwloc's transform that merges switch ports: the links
/// between switches are in no file. Without a switch in the matrix nothing is added to it.
void Builder::state_paths(const Matrix& matrix, const std::vector<End>& ends, const Where& where) {
  const std::size_t count = ends.size();
  std::vector<std::uint64_t> to_switches(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (ends[i].kind == EndKind::gpu && ends[j].kind == EndKind::nvswitch)
        to_switches[i] += matrix.values[(i * count) + j];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j || ends[i].kind != EndKind::gpu || ends[j].kind != EndKind::gpu) continue;
      const std::uint64_t mb_per_s =
          matrix.values[(i * count) + j] + std::min(to_switches[i], to_switches[j]);
      if (mb_per_s == 0) continue;
      StatedPath path;
      path.from = {PartKind::gpu, ends[i].position};
      path.to = {PartKind::gpu, ends[j].position};
      path.path_class = PathClass::nvl;
      path.gb_per_s = static_cast<double>(mb_per_s) / 1000;
      const auto pci = machine_.gpus[static_cast<std::size_t>(ends[i].position)].pci;
      const auto each =
          pci ? gb_per_s_of_one_link(machine_.pci[static_cast<std::size_t>(*pci)]) : std::nullopt;
      if (each && std::fmod(*path.gb_per_s, *each) == 0)
        path.nvlinks = static_cast<int>(*path.gb_per_s / *each);
      path.where = where;
      machine_.stated_paths.push_back(std::move(path));
    }
  }
}

}  // namespace ringcomm::inline v0::topology::hwloc_xml
