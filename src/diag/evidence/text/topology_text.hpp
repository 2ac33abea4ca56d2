// SPDX-License-Identifier: Apache-2.0
// Output of nvidia-smi topo -m, nvlink -s, lspci and the like, alone or in the middle of a paste.
#pragma once

#include "diag/evidence/text/facts.hpp"

namespace ringcomm::inline v0::diag::text {

/// Adds a Reading for each format that the text holds; false for none.
bool read_topology_of(const RawFile& file, Facts& facts);

}  // namespace ringcomm::inline v0::diag::text
