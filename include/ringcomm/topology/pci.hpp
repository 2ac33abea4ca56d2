// SPDX-License-Identifier: Apache-2.0
// PCI functions as plain data: identity, place in the tree, link, and the bits that decide peer-to-peer
// paths.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Where a value was read: a file and its line (0: the file as a whole), or a sysfs path.
struct Where {
  std::string file{};
  int line = 0;

  /// "name:12", or the file alone.
  std::string to_text() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const Where&, const Where&) = default;
};

/// domain:bus:device.function, in hexadecimal. Domains of NCCL files may have seven digits, and the hidden
/// switch of multi-node NVLink is fffffff:ff:ff.0.
struct PciBusId {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  /// "0000:3b:00.0": lower case, at least four digits of domain.
  std::string to_text() const;
  bool is_hidden_switch() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const PciBusId&, const PciBusId&) = default;
};
/// Accepts "3b:00.0", "0000:3b:00.0", "00000000:3B:00.0", "fffffff:ff:ff.0". corrupt_data quotes the text.
Result<PciBusId> parse_pci_bus_id(std::string_view text);
/// NCCL's log form: domain, bus, device and function in one hexadecimal number ("51000" is 0000:51:00.0,
/// "901000" is 0009:01:00.0).
Result<PciBusId> parse_packed_bus_id(std::string_view text);

/// An absent value is unknown: it was 0, empty, -1 or not written.
struct PciLink {
  std::optional<double> gt_per_s{};  ///< per lane: 2.5, 5, 8, 16, 32, 64
  std::optional<int> width{};        ///< lanes
  std::string speed_text{};          ///< as written
  /// GB/s of the whole link in one direction, where the source says no more (hwloc).
  std::optional<double> stated_gb_per_s{};

  /// Raw GB/s (1e9) in each direction after line coding (8b/10b, 128b/130b, 242B/256B); without speed or
  /// width the stated one; or nothing.
  std::optional<double> gb_per_s() const;
};
/// "8 GT/s", "16.0 GT/s PCIe", "32 GT/s PCIe/s", "" -> number; nothing for text without a number and GT/s.
std::optional<double> parse_link_speed(std::string_view text);

/// Access Control Services of a bridge, as switched on (not as capable).
struct AcsControl {
  bool source_validation = false;  ///< harmless alone
  bool request_redirect = false;
  bool completion_redirect = false;
  bool upstream_forward = false;
  bool direct_translated = false;

  /// Sends peer-to-peer traffic up to the root complex.
  bool redirects() const { return request_redirect || completion_redirect || upstream_forward; }
};

/// The bus that a host bridge opens: devices of one root bus meet in that bridge.
struct PciRootBus {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;

  /// "0000:17"
  std::string to_text() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const PciRootBus&, const PciRootBus&) = default;
};

struct PciDevice {
  int host = 0;  ///< index into Machine::hosts
  PciBusId id{};
  std::optional<int> parent{};  ///< index into Machine::pci of the bridge above; absent: root, or unknown
  bool is_bridge = false;
  std::optional<std::uint32_t> class_code{};  ///< 24 bits: 0x030200; prog-if 0 where the source has none
  std::optional<std::uint16_t> vendor{};
  std::optional<std::uint16_t> device{};
  PciLink link{};                        ///< as it is now
  PciLink slot{};                        ///< what the device can do (LnkCap, max_link_*)
  std::optional<int> numa_node{};        ///< os id; absent: unknown (-1)
  std::optional<PciRootBus> root_bus{};  ///< of the host bridge above it; absent: the source does not show it
  std::optional<AcsControl> acs{};
  std::optional<bool> relaxed_ordering{};
  std::optional<int> max_read_request_bytes{};
  std::optional<int> max_payload_bytes{};
  Where where{};
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
