// SPDX-License-Identifier: Apache-2.0
// PCI configuration space as bytes: ACS, and what Device Control says.
#pragma once

#include <span>

#include "ringcomm/topology/pci.hpp"

namespace ringcomm::inline v0::topology {

/// Fills acs, relaxed_ordering, max_read_request_bytes and max_payload_bytes from sysfs's `config`: 64 bytes
/// without root (nothing is learnt then), 256, or 4096. ACS stays unknown unless all 4096 bytes were given; a
/// device without the capability has none to fill in. Loops in the capability lists end.
/// Source: PCI Express Base Specification 5.0, 7.5.3 (PCI Express capability) and 7.7.8 (ACS).
void read_pci_config(std::span<const unsigned char> config, PciDevice& device);

}  // namespace ringcomm::inline v0::topology
