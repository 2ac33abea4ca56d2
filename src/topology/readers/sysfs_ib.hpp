// SPDX-License-Identifier: Apache-2.0
// A tree as /sys/class/infiniband: adapters, ports, counters, GIDs.
#pragma once

#include <filesystem>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::sysfs_ib {

/// A directory with an entry that has a `ports` directory.
bool looks_like(const std::filesystem::path& directory);
/// Follows the `device` link of an entry for its bus id. Empty files and files that cannot be read leave
/// their value unknown. Errors: not_found (no such directory, or no adapter in it).
Result<Reading> read(const std::filesystem::path& directory);

}  // namespace ringcomm::inline v0::topology::sysfs_ib
