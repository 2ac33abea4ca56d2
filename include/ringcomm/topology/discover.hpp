// SPDX-License-Identifier: Apache-2.0
// This machine, live: hwloc, NVML (by dlopen) and sysfs, laid over each other.
#pragma once

#include <filesystem>

#include "ringcomm/topology/evidence.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

struct DiscoverOptions {
  std::filesystem::path root = "/";  ///< of /sys, for tests
  bool use_hwloc = true;             ///< only where root is "/"
  bool use_nvml = true;
};
/// Never fails: what could not be read is in `skipped` with the reason. Some 10 ms.
MergedEvidence discover_machine(const DiscoverOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
