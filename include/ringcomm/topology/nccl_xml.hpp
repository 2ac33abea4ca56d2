// SPDX-License-Identifier: Apache-2.0
// A machine in NCCL's own format, for NCCL_TOPO_FILE.
#pragma once

#include <string>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/machine.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// NCCL topology XML, version 1. Reading it again gives all that the format can hold: hosts by hash, CPUs
/// with their affinity, the PCI tree above GPUs and NICs, NVLinks, C2C, ports that have a net number. <gpu>
/// elements are written only where links are known (has_link_evidence), since one without <nvlink> claims
/// that there are none; what is left out for want of an id becomes a comment in the text. Unknown values are
/// not written. An empty machine gives an empty <system>. Deterministic. Errors: invalid_argument (a GPU has
/// no bus id, by which NCCL names it; a position points outside the machine), not_available (xGMI: RCCL's
/// version 2 is read, not written).
Result<std::string> write_nccl_topology(const Machine& machine);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
