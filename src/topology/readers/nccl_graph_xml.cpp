// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_graph_xml.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"
#include "topology/readers/xml_document.hpp"

namespace ringcomm::inline v0::topology::nccl_graph_xml {
namespace {

/// NCCL calls the attributes speed..., a later name is bw...
std::optional<double> bandwidth(pugi::xml_node node, const char* name, const char* other_name) {
  auto value = number_attribute(node, name);
  if (!value) value = number_attribute(node, other_name);
  return value && *value > 0 ? value : std::nullopt;
}

PathClass class_attribute(pugi::xml_node node, const char* name) {
  return parse_path_class(node.attribute(name).value()).value_or(PathClass::unknown);
}

Result<ConfiguredRing> read_channel(const XmlDocument& document, pugi::xml_node node, int channel) {
  ConfiguredRing ring{.channel = channel, .order = {}, .where = document.where(node)};
  for (const auto gpu : node.children("gpu")) {
    const auto dev = int_attribute(gpu, "dev");
    if (!dev) return document.missing(gpu, "dev");
    if (ring.order.size() >= kDevicesMax) {
      return Status::corrupt_data(
          concat(document.where(gpu).to_text(), ": a channel of more than ", kDevicesMax, " GPUs"));
    }
    ring.order.push_back(*dev);
  }
  return ring;
}

Result<ConfiguredGraph> read_graph(const XmlDocument& document, pugi::xml_node node) {
  ConfiguredGraph graph;
  graph.pattern = int_attribute(node, "pattern").value_or(0);
  graph.intra_gb_per_s = bandwidth(node, "speedintra", "bwintra");
  graph.inter_gb_per_s = bandwidth(node, "speedinter", "bwinter");
  graph.intra_class = class_attribute(node, "typeintra");
  graph.inter_class = class_attribute(node, "typeinter");
  graph.cross_nic = int_attribute(node, "crossnic");
  graph.where = document.where(node);
  for (const auto channel : node.children("channel")) {
    RINGCOMM_TRY_ASSIGN(auto ring, read_channel(document, channel, static_cast<int>(graph.rings.size())));
    graph.rings.push_back(std::move(ring));
  }
  graph.channels = int_attribute(node, "nchannels").value_or(static_cast<int>(graph.rings.size()));
  return graph;
}

}  // namespace

bool looks_like(std::string_view text) { return root_element(text) == "graphs"; }

Result<Reading> read(std::string_view text, const std::string& file) {
  RINGCOMM_TRY_ASSIGN(const auto document, XmlDocument::parse(text, file));
  Reading reading{.file = file, .format = "nccl-graph-xml", .machine = {}, .job = {}, .skipped = {}};
  for (const auto node : document.root().children()) {
    if (node.type() != pugi::node_element) continue;
    const bool is_graph = std::string_view(node.name()) == "graph";
    if (!is_graph || !int_attribute(node, "pattern") || reading.job.graphs.size() >= kDevicesMax) {
      add_skipped(reading.skipped, document.where(node), shown_element(node),
                  is_graph ? "a graph without a pattern is no ring and no tree" : "not a <graph>");
      continue;
    }
    RINGCOMM_TRY_ASSIGN(auto graph, read_graph(document, node));
    if (graph.channels != static_cast<int>(graph.rings.size()))
      add_skipped(reading.skipped, graph.where, shown_element(node),
                  concat("nchannels differs from the ", graph.rings.size(), " channels in the file"));
    reading.job.graphs.push_back(std::move(graph));
  }
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nccl_graph_xml
