// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/lspci_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/parse.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// "DevCtl" of "DevCtl: CorrErr+ ..."; empty when the line goes on with the last label.
std::string_view label_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view label = line.substr(0, colon);
  const bool is_word = std::ranges::all_of(label, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ';
  });
  return is_word ? label : std::string_view();
}

/// '+' or '-' after a flag's name.
std::optional<bool> flag(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos || at + name.size() >= line.size()) return std::nullopt;
  const char sign = line[at + name.size()];
  if (sign != '+' && sign != '-') return std::nullopt;
  return sign == '+';
}

/// The number of "MaxPayload 256 bytes".
std::optional<int> bytes_after(std::string_view line, std::string_view name) {
  const auto text = between(line, name, " bytes");
  const auto bytes = text ? parse_count(trimmed(*text)) : std::nullopt;
  if (!bytes || *bytes <= 0 || *bytes > 65536) return std::nullopt;
  return static_cast<int>(*bytes);
}

/// "Port #0, Speed 32GT/s (ok), Width x16": an "unknown" speed and width 0 stay absent.
PciLink parse_link(std::string_view line, const Where& where, std::vector<Skipped>& skipped) {
  PciLink link;
  if (const auto speed = between(line, "Speed ", "")) {
    link.speed_text = std::string(trimmed(speed->substr(0, speed->find_first_of(",("))));
    link.gt_per_s = parse_link_speed(link.speed_text);
  }
  const auto text = between(line, "Width x", "");
  std::size_t past = 0;
  while (text && past < text->size() && (*text)[past] >= '0' && (*text)[past] <= '9') ++past;
  const auto width = text ? parse_count(text->substr(0, past)) : std::nullopt;
  if (width && *width > 0 && *width <= 64) link.width = static_cast<int>(*width);
  if (!link.gt_per_s || !link.width)
    add_skipped(skipped, where, line, "speed or width of the link is unknown");
  return link;
}

std::optional<AcsControl> parse_acs(std::string_view line) {
  const auto validation = flag(line, "SrcValid");
  const auto request = flag(line, "ReqRedir");
  const auto completion = flag(line, "CmpltRedir");
  const auto upstream = flag(line, "UpstreamFwd");
  const auto direct = flag(line, "DirectTrans");
  if (!validation || !request || !completion || !upstream || !direct) return std::nullopt;
  return AcsControl{.source_validation = *validation,
                    .request_redirect = *request,
                    .completion_redirect = *completion,
                    .upstream_forward = *upstream,
                    .direct_translated = *direct};
}

std::optional<int> parse_bus_number(std::optional<std::string_view> text) {
  int bus = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bus, 16);
  if (error != std::errc() || end != text->data() + text->size() || bus < 0 || bus > 0xff)
    return std::nullopt;
  return bus;
}

void take_device_control(std::string_view line, PciDevice& device) {
  if (const auto relaxed = flag(line, "RlxdOrd")) device.relaxed_ordering = relaxed;
  if (const auto payload = bytes_after(line, "MaxPayload ")) device.max_payload_bytes = payload;
  if (const auto request = bytes_after(line, "MaxReadReq ")) device.max_read_request_bytes = request;
}

}  // namespace

void LspciFields::take(std::string_view raw_line, const Where& where, PciDevice& device,
                       std::vector<Skipped>& skipped) {
  const std::string_view line = trimmed(raw_line);
  if (line.find("<access denied>") != std::string_view::npos) was_denied_ = true;
  if (const std::string_view label = label_of(line); !label.empty()) label_ = std::string(label);
  if (label_ == "DevCtl") {
    take_device_control(line, device);
  } else if (label_ == "LnkCap" && line.starts_with("LnkCap")) {
    device.slot = parse_link(line, where, skipped);
  } else if (label_ == "LnkSta" && line.starts_with("LnkSta")) {
    device.link = parse_link(line, where, skipped);
  } else if (label_ == "ACSCtl" && line.starts_with("ACSCtl")) {
    device.acs = parse_acs(line);
    if (!device.acs) add_skipped(skipped, where, line, "ACS flags are missing: ACS is unknown");
  } else if (label_ == "NUMA node" && line.starts_with("NUMA node")) {
    const auto node = parse_decimal<int>(trimmed(line.substr(line.find(':') + 1)));
    if (node && *node >= 0) device.numa_node = node;
    if (!node) add_skipped(skipped, where, line, "no number of a NUMA node");
  } else if (label_ == "Bus" && line.starts_with("Bus:")) {
    const auto primary = parse_bus_number(between(line, "primary=", ","));
    const auto secondary = parse_bus_number(between(line, "secondary=", ","));
    if (primary && secondary) {
      buses_ = LspciBuses{.primary = *primary, .secondary = *secondary};
    } else {
      add_skipped(skipped, where, line, "bus numbers of a bridge: what is below it is unknown");
    }
  }
}

}  // namespace ringcomm::inline v0::topology
