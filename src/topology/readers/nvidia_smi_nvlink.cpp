// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvidia_smi_nvlink.hpp"

#include "core/parse.hpp"
#include "topology/readers/smi_nvlink.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_nvlink {
namespace {

Status read_link(std::string_view value, NvLinkPort& port, Gpu&, const Where& where,
                 std::vector<Skipped>& skipped) {
  if (value == "<inactive>") {
    port.is_active = false;
    return {};
  }
  const auto words = words_of(value);
  const auto rate = words.size() == 2 && words[1] == "GB/s" ? parse_decimal<double>(words[0]) : std::nullopt;
  if (rate && *rate > 0 && *rate < 10000) {
    port.is_active = true;
    port.gb_per_s = *rate;
  } else {
    add_skipped(skipped, where, value, "neither a rate in GB/s nor <inactive>: the link's state is unknown");
  }
  return {};
}

}  // namespace

bool looks_like(std::string_view text) {
  const NvLinkLines lines = find_nvlink_lines(text);
  return lines.has_gpu && lines.has_rate && !lines.has_remote;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  return read_nvlink_lines(text, file, "nvidia-smi-nvlink", read_link);
}

}  // namespace ringcomm::inline v0::topology::nvidia_smi_nvlink
