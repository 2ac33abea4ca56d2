// SPDX-License-Identifier: Apache-2.0
// The values that ibstat, ibstatus, ibv_devinfo and /sys/class/infiniband write in different words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

/// "4: ACTIVE", "PORT_ACTIVE (4)", "Active".
std::optional<PortState> parse_port_state(std::string_view text);
/// "5: LinkUp", "LINK_UP (5)", "Polling".
std::optional<PhysState> parse_phys_state(std::string_view text);
std::optional<LinkLayer> parse_link_layer(std::string_view text);
/// Gb/s of "400 Gb/sec (4X NDR)" or "400".
std::optional<double> parse_port_rate(std::string_view text);
/// "fe80:0000:..., RoCE v1", address and type; the address in canonical form, IPv4-mapped as
/// "::ffff:192.0.2.6". Nothing when it is no IPv6 address.
std::optional<Gid> parse_gid(std::string_view address, std::string_view type);
/// An unused entry of the table: all zero.
bool is_empty_gid(const Gid& gid);

/// "Physical state: Polling" -> key "physical state", value "Polling"; underscores of the key are blanks.
struct IbField {
  std::string key{};
  std::string_view value{};
};
std::optional<IbField> split_ib_field(std::string_view line);

/// False: not a field of a port. A value that is not understood stays unknown and is reported.
bool set_port_field(const IbField& field, const Where& where, Port& port, std::vector<Skipped>& skipped);
/// False: not a field of a NIC.
bool set_nic_field(const IbField& field, Nic& nic);

}  // namespace ringcomm::inline v0::topology
