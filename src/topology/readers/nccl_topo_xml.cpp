// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_topo_xml.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_topo_builder.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {

bool looks_like(std::string_view text) { return root_element(text) == "system"; }

Result<Reading> read(std::string_view text, const std::string& file) {
  RINGCOMM_TRY_ASSIGN(const auto document, XmlDocument::parse(text, file));
  const pugi::xml_node system = document.root();
  if (std::string_view(system.name()) != "system") {
    return Status::corrupt_data(concat(document.where(system).to_text(), ": the outermost element is <",
                                       system.name(), ">, not NCCL's <system>"));
  }
  Reading reading{.file = file, .format = "nccl-topo-xml", .machine = {}, .job = {}, .skipped = {}};
  RINGCOMM_TRY(Builder(document, reading).add_system(system));
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
