// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_log/job_machine.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log/graph_builder.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

constexpr std::size_t kNodesMax = 65536;

/// "(1/2/-1)" behind a node's name, without its parentheses.
std::string detail_of(std::string_view text) {
  return std::string(between(text, "(", ")").value_or(std::string_view()));
}

bool is_node_type(std::string_view type) {
  return type == "CPU" || type == "PCI" || type == "GPU" || type == "NIC" || type == "NET" || type == "NVS";
}

}  // namespace

std::optional<GraphNode> parse_graph_node(std::string_view text) {
  GraphNode node;
  text = trimmed(text);
  if (text.starts_with("+ ")) {
    const auto link_class = between(text, "+ ", "[");
    const auto number = between(text, "[", "]");
    const auto rest = between(text, "] - ", "");
    if (!link_class || !number || !rest) return std::nullopt;
    node.link_class = std::string(*link_class);
    node.gb_per_s = parse_decimal<double>(*number);
    if (!node.gb_per_s) return std::nullopt;
    text = *rest;
  } else if (!text.starts_with("CPU/")) {
    return std::nullopt;
  }
  const auto words = words_of(text);
  if (words.empty() || words.size() > 2) return std::nullopt;
  const std::string_view name = words.front();
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !is_node_type(name.substr(0, slash))) return std::nullopt;
  std::string_view id = name.substr(slash + 1);
  if (const std::size_t dash = id.find('-'); dash != std::string_view::npos) {
    node.system = std::string(id.substr(0, dash));
    id.remove_prefix(dash + 1);
  }
  if (id.empty()) return std::nullopt;
  node.name = std::string(name);
  node.type = std::string(name.substr(0, slash));
  node.id = std::string(id);
  node.detail = detail_of(text);
  return node;
}

JobMachine::HostLog* JobMachine::host_log(std::string_view host) {
  const auto found = hosts_.find(host);
  if (found != hosts_.end()) return &found->second;
  if (hosts_.size() >= kDevicesMax) return nullptr;
  return &hosts_.emplace(std::string(host), HostLog{}).first->second;
}

void JobMachine::add_gpu(std::string_view host, const PciBusId& bus, const JobGpu& gpu) {
  HostLog* const log = host_log(host);
  if (log == nullptr || (log->gpus.size() >= kDevicesMax && !log->gpus.contains(bus))) return;
  const auto [found, is_new] = log->gpus.emplace(bus, gpu);
  if (is_new) return;
  JobGpu& target = found->second;
  if (!target.index) target.index = gpu.index;
  if (gpu.rank && gpu.ranks > target.ranks) {
    target.rank = gpu.rank;
    target.ranks = gpu.ranks;
  }
  if (target.fabric_state.empty()) target.fabric_state = gpu.fabric_state;
  if (target.fabric_cluster.empty()) target.fabric_cluster = gpu.fabric_cluster;
}

void JobMachine::add_interfaces(std::string_view host, std::vector<std::string> names, bool is_rdma) {
  HostLog* const log = host_log(host);
  if (log == nullptr || !log->interfaces.empty()) return;
  log->interfaces = std::move(names);
  log->is_rdma = is_rdma;
}

void JobMachine::begin_graph(const Message& message) {
  HostLog* const log = host_log(message.host);
  if (log == nullptr) return;
  if (log->graph_writer.empty()) log->graph_writer = std::string(message.writer);
  if (log->graph_writer == message.writer) ++log->graphs;
}

std::optional<std::size_t> JobMachine::add_graph_line(const Message& message, Where where) {
  auto node = parse_graph_node(message.text);
  HostLog* const log = host_log(message.host);
  if (!node || log == nullptr || log->nodes.size() >= kNodesMax) return std::nullopt;
  if (log->graph_writer.empty()) log->graph_writer = std::string(message.writer);
  if (log->graph_writer != message.writer || log->graphs > 1) return std::nullopt;
  // The indentation is the depth; its step differs between versions, and the first step is none.
  const std::size_t indent = message.text.find_first_not_of(' ');
  const bool is_root = node->link_class.empty();
  while (!log->open.empty() && (is_root || log->open.back().first > indent)) log->open.pop_back();
  if (!log->open.empty()) node->parent = log->open.back().second;
  node->depth = static_cast<int>(log->open.size());
  node->where = std::move(where);
  if (log->open.size() < kDepthMax) log->open.emplace_back(is_root ? 0 : indent + 1, log->nodes.size());
  log->nodes.push_back(std::move(*node));
  return log->nodes.size() - 1;
}

const GraphNode& JobMachine::graph_node(std::string_view host, std::size_t position) const {
  return hosts_.find(host)->second.nodes[position];
}

Machine JobMachine::build() const {
  Machine machine;
  for (const auto& [name, log] : hosts_) GraphBuilder(machine, name, log).build();
  return machine;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
