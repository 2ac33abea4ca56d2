// SPDX-License-Identifier: Apache-2.0
// The <nvlink>, <xgmi> and <c2c> elements: read when all GPUs are known, since they name each other.
#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_topo_builder.hpp"
#include "topology/readers/pci_class.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {

void Builder::add_links() {
  for (const auto& [gpu, element] : gpu_elements_) {
    for (const auto child : element.children()) {
      const std::string_view name = child.name();
      if (machine_.links.size() >= kDevicesMax * 18)
        return skip(child, "too many links; the rest is left out");
      if (name == "nvlink") {
        add_nvlink(child, gpu, LinkKind::nvlink);
      } else if (name == "xgmi") {
        add_nvlink(child, gpu, LinkKind::xgmi);
      } else if (name == "c2c") {
        add_c2c(child, gpu);
      } else if (child.type() == pugi::node_element) {
        skip(child, "not an element that the reader knows here");
      }
    }
  }
}

void Builder::add_nvlink(pugi::xml_node node, int gpu, LinkKind kind) {
  Link link;
  link.kind = kind;
  link.gpu = gpu;
  link.where = document_.where(node);
  link.count = int_attribute(node, "count");
  if (!link.count || *link.count <= 0) {
    link.count.reset();
    skip(node, "no count of links: unknown, not none");
  }
  const auto target = parse_pci_bus_id(trimmed(node.attribute("target").value()));
  if (target.is_ok()) {
    link.target = target.value();
    find_end(node, link);
  } else {
    skip(node, "no target: where the link ends is unknown");
  }
  machine_.links.push_back(std::move(link));
}

void Builder::find_end(pugi::xml_node node, Link& link) {
  const Gpu& from = machine_.gpus[static_cast<std::size_t>(link.gpu)];
  const auto tclass = hex_attribute(node, "tclass");
  const auto peer = std::ranges::find_if(
      machine_.gpus, [&](const Gpu& gpu) { return gpu.host == from.host && gpu.bus == link.target; });
  if (peer != machine_.gpus.end()) {
    link.end = LinkEnd::gpu;
    link.peer = static_cast<int>(peer - machine_.gpus.begin());
    if (link.peer == link.gpu)
      skip(node, "the link's target is its own GPU: an error of the file; it joins no pair");
  } else if (link.target->is_hidden_switch() || (tclass && is_nvswitch_class(*tclass))) {
    link.end = LinkEnd::nvswitch;
  } else if (tclass && (is_bridge_class(*tclass) || *tclass >> 8 == 0x0600)) {
    // POWER: the CPU answers as a bridge; NCCL takes it for the GPU's own CPU.
    link.end = LinkEnd::numa_node;
    link.peer = numa_position(from.host, from.numa_node);
  } else {
    skip(node, "the target is no GPU of this file and no switch: where the link ends is unknown");
  }
}

void Builder::add_c2c(pugi::xml_node node, int gpu) {
  const Gpu& from = machine_.gpus[static_cast<std::size_t>(gpu)];
  Link link;
  link.kind = LinkKind::c2c;
  link.gpu = gpu;
  link.end = LinkEnd::numa_node;
  link.peer = numa_position(from.host, from.numa_node);
  link.where = document_.where(node);
  const auto count = int_attribute(node, "count");
  const auto mb_per_s = number_attribute(node, "bw");
  if (count && *count > 0) link.count = count;
  if (mb_per_s && *mb_per_s > 0) link.gb_per_s_each = *mb_per_s / 1000;
  if (!link.count || !link.gb_per_s_each) skip(node, "no count or no bw: the bandwidth of C2C is unknown");
  machine_.links.push_back(std::move(link));
}

std::optional<int> Builder::numa_position(int host, std::optional<int> id) const {
  for (std::size_t at = 0; id && at < machine_.numa_nodes.size(); ++at) {
    if (machine_.numa_nodes[at].host == host && machine_.numa_nodes[at].id == *id)
      return static_cast<int>(at);
  }
  return std::nullopt;
}

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
