// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/topology_text.hpp"

#include <string>
#include <utility>

#include "topology/readers/evidence_readers.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

// Such output is short; a job's log of gigabytes is not searched for it.
constexpr std::size_t kBytesMax = std::size_t{4} << 20;

std::string_view format_of(std::string_view reader) {
  if (reader == "nvidia-smi-topo") return "topo_matrix";
  if (reader == "nvidia-smi-nvlink") return "nvlink_status";
  return reader;
}

}  // namespace

bool read_topology_of(const RawFile& file, Facts& facts) {
  const std::string_view text = file.bytes.substr(0, kBytesMax);
  bool is_found = false;
  for (const topology::Reader& reader : topology::evidence_readers()) {
    // NCCL's log has line readers of its own here.
    if (reader.name == "nccl-log" || !reader.looks_like(text)) continue;
    auto reading = reader.read(text, file.path);
    if (!reading.is_ok()) continue;
    Reading value = std::move(reading).value();
    if (value.machine.gpus.empty() && value.machine.nics.empty() && value.machine.pci.empty()) continue;
    value.file = file.path;
    value.format = std::string(reader.name);
    facts.add_topology(std::move(value));
    facts.format(format_of(reader.name));
    is_found = true;
  }
  return is_found;
}

}  // namespace ringcomm::inline v0::diag::text
