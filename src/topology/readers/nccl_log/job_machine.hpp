// SPDX-License-Identifier: Apache-2.0
// What a log tells of the machines under a job: GPUs by bus id, and the graph that NCCL prints of a host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/nccl_log/message.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

/// A line of the graph: "+ PCI[0.2] - PCI/0-65000 (104c823200000000)".
struct GraphNode {
  std::string link_class{};  ///< "PCI"; empty for a root
  std::optional<double> gb_per_s{};
  std::string name{};  ///< "PCI/0-65000"
  std::string type{};  ///< "PCI"
  std::string system{};
  std::string id{};      ///< "65000"
  std::string detail{};  ///< "104c823200000000"
  std::optional<std::size_t> parent{};
  int depth = 0;
  Where where{};
};
/// Nothing for text that is no line of the graph. `parent`, `depth` and `where` are the caller's.
std::optional<GraphNode> parse_graph_node(std::string_view text);

/// What one rank says of its GPU.
struct JobGpu {
  std::optional<int> index{};
  std::optional<int> rank{};
  int ranks = 0;  ///< of the communicator that the rank is of
  std::string fabric_state{};
  std::string fabric_cluster{};
  Where where{};
};

class JobMachine {
 public:
  /// A second word on one GPU adds what the first left out; the rank is that of the largest communicator.
  void add_gpu(std::string_view host, const PciBusId& bus, const JobGpu& gpu);
  /// Network interfaces in NCCL's numbering.
  void add_interfaces(std::string_view host, std::vector<std::string> names, bool is_rdma);
  /// Only the first graph of the first rank of each host: the others print the same. Returns the node's
  /// position, or nothing when it is a repetition.
  std::optional<std::size_t> add_graph_line(const Message& message, Where where);
  void begin_graph(const Message& message);
  const GraphNode& graph_node(std::string_view host, std::size_t position) const;

  Machine build() const;

 private:
  struct HostLog {
    std::map<PciBusId, JobGpu> gpus{};
    std::vector<std::string> interfaces{};
    bool is_rdma = true;
    std::string graph_writer{};
    int graphs = 0;
    std::vector<GraphNode> nodes{};
    std::vector<std::pair<std::size_t, std::size_t>> open{};  ///< indentation and node, from the root down
  };
  friend class GraphBuilder;

  HostLog* host_log(std::string_view host);

  std::map<std::string, HostLog, std::less<>> hosts_;
};

}  // namespace ringcomm::inline v0::topology::nccl_log
