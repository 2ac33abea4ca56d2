// SPDX-License-Identifier: Apache-2.0
// NCCL's graph XML (NCCL_GRAPH_FILE, NCCL_GRAPH_DUMP_FILE): the channels of a job.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::nccl_graph_xml {

bool looks_like(std::string_view text);
/// Fills JobEvidence::graphs, each channel as a ConfiguredRing in the order of the file; the machine stays
/// empty.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::nccl_graph_xml
