// SPDX-License-Identifier: Apache-2.0
// Reads the live machine through hwloc, whose header only hwloc.cpp includes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/binding.hpp"

namespace ringcomm::inline v0::topology::hwloc {

/// In hwloc's logical order, with the hardware threads that are in `allowed_cpus` only. Empty when hwloc
/// fails or was told by its own environment (HWLOC_XMLFILE, HWLOC_SYNTHETIC) to describe another machine,
/// whose CPU numbers mean nothing here.
std::vector<CoreInfo> read_cores(std::span<const int> allowed_cpus);

/// The same for an invented machine in hwloc's synthetic notation, for example "package:2 core:4 pu:2".
std::vector<CoreInfo> read_synthetic_cores(const std::string& description, std::span<const int> allowed_cpus);

/// This machine with its I/O objects, as XML of format 2: read by hwloc_xml, as a file is. not_available when
/// hwloc fails or was told to describe another machine.
Result<std::string> export_live_xml();

}  // namespace ringcomm::inline v0::topology::hwloc
