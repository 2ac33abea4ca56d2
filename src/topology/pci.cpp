// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/pci.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

/// Takes hexadecimal digits up to `stop` (0: the end) off the front of `text`.
std::optional<std::uint32_t> take_hex(std::string_view& text, char stop, std::uint32_t value_max) {
  const std::size_t past = stop == 0 ? text.size() : text.find(stop);
  if (past == std::string_view::npos || past == 0 || past > 8) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + past, value, 16);
  if (error != std::errc() || end != text.data() + past || value > value_max) return std::nullopt;
  text.remove_prefix(stop == 0 ? past : past + 1);
  return value;
}

Status no_bus_id(std::string_view text) {
  return Status(StatusCode::corrupt_data,
                concat("'", text.substr(0, 40), "' is no PCI bus id (0000:3b:00.0)"));
}

}  // namespace

std::string Where::to_text() const { return line > 0 ? concat(file, ":", line) : file; }

std::string PciBusId::to_text() const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text.data();
}

std::string PciRootBus::to_text() const {
  const std::string device = PciBusId{.domain = domain, .bus = bus}.to_text();
  return device.substr(0, device.rfind(':'));
}

bool PciBusId::is_hidden_switch() const { return domain > 0xffff && bus == 0xff && device == 0xff; }

Result<PciBusId> parse_pci_bus_id(std::string_view text) {
  std::string_view rest = text;
  PciBusId id;
  if (text.find(':') != text.rfind(':')) {
    const auto domain = take_hex(rest, ':', 0xffffffff);
    if (!domain) return no_bus_id(text);
    id.domain = *domain;
  }
  const auto bus = take_hex(rest, ':', 0xff);
  const auto device = bus ? take_hex(rest, '.', 0xff) : std::nullopt;
  const auto function = device ? take_hex(rest, 0, 0xf) : std::nullopt;
  if (!function) return no_bus_id(text);
  id.bus = static_cast<std::uint8_t>(*bus);
  id.device = static_cast<std::uint8_t>(*device);
  id.function = static_cast<std::uint8_t>(*function);
  return id;
}

Result<PciBusId> parse_packed_bus_id(std::string_view text) {
  std::string_view digits = text.substr(text.starts_with("0x") ? 2 : 0);
  std::uint64_t packed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), packed, 16);
  if (digits.empty() || digits.size() > 13 || error != std::errc() || end != digits.data() + digits.size())
    return no_bus_id(text);
  return PciBusId{.domain = static_cast<std::uint32_t>(packed >> 20),
                  .bus = static_cast<std::uint8_t>((packed >> 12) & 0xff),
                  .device = static_cast<std::uint8_t>((packed >> 4) & 0xff),
                  .function = static_cast<std::uint8_t>(packed & 0xf)};
}

std::optional<double> PciLink::gb_per_s() const {
  if (!gt_per_s || !width) return stated_gb_per_s;
  // PCIe base specification: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242B/256B FLITs at 64.
  const double efficiency = *gt_per_s < 6 ? 0.8 : *gt_per_s < 48 ? 128.0 / 130.0 : 242.0 / 256.0;
  return *gt_per_s * efficiency * *width / 8.0;
}

std::optional<double> parse_link_speed(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0) || value > 1000) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest.starts_with("GT/s") ? std::optional(value) : std::nullopt;
}

}  // namespace ringcomm::inline v0
