// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvidia_smi_nvlink_remote.hpp"

#include <algorithm>
#include <map>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/smi_nvlink.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_nvlink_remote {
namespace {

constexpr std::string_view kRemoteDevice = "Remote Device";

Status read_link(std::string_view value, NvLinkPort& port, Gpu&, const Where& where,
                 std::vector<Skipped>& skipped) {
  if (value == "<inactive>") {
    port.is_active = false;
    return {};
  }
  if (!value.starts_with(kRemoteDevice)) {
    add_skipped(skipped, where, value, "no remote device: where the link ends is unknown");
    return {};
  }
  std::string_view remote = trimmed(value.substr(kRemoteDevice.size()));
  remote = trimmed(remote.substr(0, remote.find(": Link")));
  if (remote.starts_with(':')) remote = {};
  const auto id = parse_pci_bus_id(remote);
  if (remote.empty())
    return Status(StatusCode::corrupt_data,
                  concat("'", shown(value), "' at ", where.to_text(), ": the remote device has no id"));
  if (id.is_ok()) {
    port.remote = id.value();
  } else {
    port.remote_name = std::string(remote.substr(0, 80));
  }
  return {};
}

void add_links(Machine& machine) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    std::map<PciBusId, int> counts;
    for (const NvLinkPort& port : machine.gpus[i].nvlink_ports) {
      if (port.remote) ++counts[*port.remote];
    }
    for (const auto& [target, count] : counts) {
      Link& link = machine.links.emplace_back();
      link.gpu = static_cast<int>(i);
      link.target = target;
      link.count = count;
      link.where = machine.gpus[i].where;
    }
  }
}

}  // namespace

bool looks_like(std::string_view text) {
  const NvLinkLines lines = find_nvlink_lines(text);
  return lines.has_gpu && lines.has_remote;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  RINGCOMM_TRY_ASSIGN(Reading reading, read_nvlink_lines(text, file, "nvidia-smi-nvlink-remote", read_link));
  add_links(reading.machine);
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nvidia_smi_nvlink_remote
