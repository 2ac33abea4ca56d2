// SPDX-License-Identifier: Apache-2.0
// From the lines of one host's log to its part of the Machine. The graph holds only what the job uses, and
// its GB/s are NCCL's model: neither a missing device nor a bandwidth is taken from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/readers/nccl_log/job_machine.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

class GraphBuilder {
 public:
  GraphBuilder(Machine& machine, const std::string& host, const JobMachine::HostLog& log)
      : machine_(machine), host_name_(host), log_(log) {}
  void build();

 private:
  int host_of(const GraphNode& node);
  int add_host(const std::string& name);
  void add_pci(std::size_t i);
  void add_port(std::size_t i);
  void add_gpu(int host, const PciBusId& bus, const JobGpu& gpu);
  void add_link(std::size_t i);
  void number_gpus(std::size_t first);
  /// The nearest node above of one of the types.
  std::optional<std::size_t> above(std::size_t i, std::string_view type) const;

  Machine& machine_;
  const std::string& host_name_;
  const JobMachine::HostLog& log_;
  bool has_systems_ = false;
  std::map<std::string, int> hosts_;
  std::map<std::size_t, int> pci_of_node_;
  std::map<std::size_t, int> gpu_of_node_;
  std::map<std::size_t, int> nic_of_node_;
  std::map<std::pair<int, PciBusId>, int> gpus_;
  std::map<std::pair<int, std::string>, int> gpu_of_id_;  ///< by host and id as written
};

}  // namespace ringcomm::inline v0::topology::nccl_log
