// SPDX-License-Identifier: Apache-2.0
// hwloc's XML, formats 1 and 2, read without hwloc (docs/decisions/0011-hwloc-xml-without-hwloc.md).
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {

bool looks_like(std::string_view text);
/// One device per PCI function, whatever number of OS devices it has. not_available for format 3, with the
/// command that exports format 2. hwloc's version becomes an event of kind `version`.
Result<Reading> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::hwloc_xml
