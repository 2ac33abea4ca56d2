// SPDX-License-Identifier: Apache-2.0
// The variables and launch lines that put each rank beside its GPU and NIC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::doctor {

struct Advice {
  std::string use{};      ///< "Open MPI", "Slurm", "NCCL", "UCX"
  std::string command{};  ///< to be copied as it is; longer than a screen line: cut by backslashes
};

/// Which GPU a rank gets: its own number's, or the one at its place in CUDA_VISIBLE_DEVICES when that is set
/// to the best ring.
enum class RankOrder : std::uint8_t { devices, best_ring };

/// Nothing where there is nothing to choose: one rank, one NUMA node and no NIC. Several hosts are taken to
/// be alike; the first is described.
std::vector<Advice> launch_advice(const TopologyCase& input, RankOrder order = RankOrder::devices);

}  // namespace ringcomm::doctor
