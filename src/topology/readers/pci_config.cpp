// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/pci_config.hpp"

#include <cstddef>

namespace ringcomm::inline v0::topology {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kExtendedFirst = 0x100;
constexpr unsigned kPciExpress = 0x10;
constexpr unsigned kAccessControl = 0x000d;

unsigned word16(std::span<const unsigned char> bytes, std::size_t at) {
  return at + 2 <= bytes.size() ? bytes[at] | (static_cast<unsigned>(bytes[at + 1]) << 8) : 0;
}
unsigned word32(std::span<const unsigned char> bytes, std::size_t at) {
  return word16(bytes, at) | (word16(bytes, at + 2) << 16);
}

void read_device_control(std::span<const unsigned char> config, PciDevice& device) {
  std::size_t at = config[0x34] & 0xfcU;
  for (int steps = 0; at >= kHeaderBytes && at + 10 <= config.size() && steps < 48; ++steps) {
    if (config[at] == kPciExpress) {
      const unsigned control = word16(config, at + 8);
      device.relaxed_ordering = (control & 0x10U) != 0;
      device.max_payload_bytes = 128 << ((control >> 5) & 7U);
      device.max_read_request_bytes = 128 << ((control >> 12) & 7U);
      return;
    }
    at = config[at + 1] & 0xfcU;
  }
}

void read_acs(std::span<const unsigned char> config, PciDevice& device) {
  std::size_t at = kExtendedFirst;
  for (int steps = 0; at >= kExtendedFirst && at + 8 <= config.size() && steps < 1024; ++steps) {
    const unsigned header = word32(config, at);
    if (header == 0 || header == 0xffffffff) return;
    if ((header & 0xffffU) == kAccessControl) {
      const unsigned control = word16(config, at + 6);
      device.acs = AcsControl{.source_validation = (control & 0x01U) != 0,
                              .request_redirect = (control & 0x04U) != 0,
                              .completion_redirect = (control & 0x08U) != 0,
                              .upstream_forward = (control & 0x10U) != 0,
                              .direct_translated = (control & 0x40U) != 0};
      return;
    }
    at = (header >> 20) & 0xffcU;
  }
}

}  // namespace

void read_pci_config(std::span<const unsigned char> config, PciDevice& device) {
  // A device that has fallen off the bus reads as ones.
  if (config.size() <= kHeaderBytes || word16(config, 0) == 0xffff) return;
  const bool has_capabilities = (word16(config, 6) & 0x10U) != 0;
  if (has_capabilities) read_device_control(config, device);
  read_acs(config, device);
}

}  // namespace ringcomm::inline v0::topology
