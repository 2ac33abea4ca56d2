// SPDX-License-Identifier: Apache-2.0
// What machine.hpp promises of every Machine, whatever bytes it was read from.
#pragma once

#include <vector>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::fuzz {

/// Aborts with one line when the promise is broken.
void promise(bool is_kept, const char* what);
/// Sorted, each once, within the limit.
void check_cpus(const std::vector<int>& cpus);
/// Positions lead to devices, the PCI tree has no circle, and no value is 0, negative or endless where
/// "unknown" would be absent.
void check_promises(const Machine& machine);

}  // namespace ringcomm::fuzz
