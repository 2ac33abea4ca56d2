// SPDX-License-Identifier: Apache-2.0
// Ways over another GPU: to a GPU (NCCL's NVB) and to a NIC (PXN).
#pragma once

#include <vector>

#include "ringcomm/topology/path.hpp"
#include "topology/device_place.hpp"

namespace ringcomm::inline v0::topology {

/// [matrix.devices]: places; `is_stated` [matrix.paths]: what the evidence says stays.
struct DetourInput {
  const Machine& machine;
  const std::vector<DevicePlace>& places;
  const std::vector<bool>& is_stated;
};

/// GPU pairs without a link of their own that share a neighbour: one GPU in between, never more.
void add_nvlink_detours(const DetourInput& input, PathMatrix& matrix);
/// A GPU whose way to a NIC leads over the CPU, and a neighbour near that NIC over NVLinks of at least twice
/// the NIC's rate (topology spec 2.5). Unknown rates: no detour.
void add_nic_detours(const DetourInput& input, PathMatrix& matrix);

/// Of the fastest port, GB/s; absent when no port tells its rate.
std::optional<double> port_gb_per_s(const Nic& nic);

bool is_over_pci(PathClass path_class);

}  // namespace ringcomm::inline v0::topology
