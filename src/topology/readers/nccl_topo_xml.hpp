// SPDX-License-Identifier: Apache-2.0
// NCCL's topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), version 1, and RCCL's version 2.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {

bool looks_like(std::string_view text);
/// Files without <gpu> elements (clouds ship such) have the GPUs and NICs that PCI classes show, numbered in
/// the file's order, and no evidence of links. NICs that only a class shows are named by their bus id.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
