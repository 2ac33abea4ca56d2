// SPDX-License-Identifier: Apache-2.0
// "=== System : maxBw 48.0 totalBw 370.8 ===" and the tree below it.
#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

bool parse_system(const Message& message, Collector& collector) {
  const auto body = between(message.text, "=== System : ", " ===");
  if (!body) return false;
  const auto words = words_of(*body);
  if (words.size() != 4 || message.is_torn) return false;
  collector.machine().begin_graph(message);
  collector.add_event(message, LogEventKind::system_bandwidth,
                      {{"max", std::string(words[1])}, {"total", std::string(words[3])}}, Repeats::per_host);
  return true;
}

bool parse_graph_line(const Message& message, Collector& collector) {
  if (!parse_graph_node(message.text)) return false;
  if (message.is_torn) {
    collector.skip(message, "a line of the graph that is cut");
    return true;
  }
  const auto position = collector.machine().add_graph_line(message, collector.where(message));
  if (!position) return true;
  const GraphNode& node = collector.machine().graph_node(message.host, *position);
  if (node.link_class.empty()) return true;
  std::string parent;
  if (node.parent) parent = collector.machine().graph_node(message.host, *node.parent).name;
  // Equal edges below different parents are different edges: the parent tells them apart.
  collector.add_event(message, LogEventKind::graph_edge,
                      {{"depth", concat(node.depth)},
                       {"class", node.link_class},
                       {"gb_per_s", concat(*node.gb_per_s)},
                       {"target", node.name},
                       {"parent", std::move(parent)}},
                      Repeats::per_host);
  return true;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
