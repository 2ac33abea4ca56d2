// SPDX-License-Identifier: Apache-2.0
// What planning needs of the machines: how many of what, and what one edge of a ring costs.
#pragma once

#include <optional>
#include <string>

#include "model.hpp"
#include "ringcomm/topology/path_class.hpp"

namespace ringcomm::planner {

/// One direction of one hop. An absent number is unknown, and what needs it is unknown too (a latency that is
/// unknown is left out, and said).
struct Edge {
  std::string name{};  ///< "NV18", "SYS", "NIC"
  Bandwidth bandwidth{};
  std::optional<double> alpha_us{};
};

struct Fabric {
  int hosts = 1;
  int gpus_per_host = 1;
  std::optional<int> nics_per_host{};  ///< that carry data
  Edge local{};                        ///< the slowest edge of a host's ring
  Edge nic{};                          ///< one NIC
  std::optional<double> tflops{};      ///< attained by one rank, not the data sheet's
  std::optional<double> gpu_gb{};      ///< memory of one rank, 1e9 bytes
  std::string origin{};                ///< "given by flags", "read from topo.txt", "this machine"
};

/// How the ranks of one context-parallel group lie on hosts, ranks counted as Megatron-LM does (TP innermost,
/// then CP; comm/parallel_grid.hpp).
struct CpPlace {
  int per_host = 1;  ///< ranks of the group on one host
  int hosts = 1;
  int sharing = 1;      ///< groups on one host, which use its NICs at the same time
  bool is_even = true;  ///< the same count on each of the hosts
};
CpPlace place_cp(const Fabric& fabric, const Split& split);

/// Seconds are microseconds and bytes per microsecond here: GB/s x 1000.
struct Rates {
  double flop_per_us = 0;
  double local_bytes_per_us = 0;
  double local_alpha_us = 0;
  double nic_bytes_per_us = 0;  ///< of one NIC
  double nic_alpha_us = 0;
  int nics = 1;
};

/// Which of the numbers that a split needs are unknown: a sentence each for compute and for transfers, empty
/// when all are known.
struct Missing {
  std::string compute{};
  std::string transfer{};
  std::string latency{};
};
Missing missing_numbers(const Fabric& fabric, const Split& split, Phase phase);
/// Unknown numbers are 0: ask missing_numbers first.
Rates rates_of(const Fabric& fabric);

}  // namespace ringcomm::planner
