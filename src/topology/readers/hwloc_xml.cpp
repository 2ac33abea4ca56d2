// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/hwloc_xml.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/hwloc_builder.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {
namespace {

constexpr const char* kVersion = "version";

/// Format 1 wrote no version.
bool is_newer_than_2(pugi::xml_node topology) {
  const auto version = number_attribute(topology, kVersion);
  return version && *version >= 3;
}

}  // namespace

bool looks_like(std::string_view text) { return root_element(text) == "topology"; }

Result<Reading> read(std::string_view text, const std::string& file) {
  RINGCOMM_TRY_ASSIGN(const auto document, XmlDocument::parse(text, file));
  const pugi::xml_node topology = document.root();
  if (std::string_view(topology.name()) != "topology") {
    return Status::corrupt_data(concat(document.where(topology).to_text(), ": the outermost element is <",
                                       shown(topology.name()), ">, not hwloc's <topology>"));
  }
  if (is_newer_than_2(topology)) {
    return Status::not_available(concat(document.where(topology).to_text(), ": hwloc XML of format ",
                                        shown(topology.attribute(kVersion).value()),
                                        " (this reader knows 1 and 2). Export it with hwloc 3: lstopo -i ",
                                        file, " --of v2xml out.xml"));
  }
  Reading reading{.file = file, .format = "hwloc-xml", .machine = {}, .job = {}, .skipped = {}};
  RINGCOMM_TRY(Builder(document, reading).add_topology(topology));
  return reading;
}

}  // namespace ringcomm::inline v0::topology::hwloc_xml
