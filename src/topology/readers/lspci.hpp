// SPDX-License-Identifier: Apache-2.0
// `lspci -vvv` (also with -D, -n, -nn): the PCI tree, its links, ACS and control bits, the GPUs and NICs in
// it.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::lspci {

bool looks_like(std::string_view text);
/// GPUs are numbered in the order of the file, which is that of bus ids; NICs are named by bus id. Parents
/// come from the bus numbers of the bridges that are there. corrupt_data: a device without its bus id.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::lspci
