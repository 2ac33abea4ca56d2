// SPDX-License-Identifier: Apache-2.0
// NICs and ports as the lines of an InfiniBand tool name them, one after the other.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/ib_fields.hpp"

namespace ringcomm::inline v0::topology {

class IbReading {
 public:
  IbReading(const std::string& file, std::string_view format);

  /// Later lines belong to this NIC; a name that was there before goes on with that NIC. corrupt_data: no
  /// name.
  Status begin_nic(std::string_view name, std::string_view line, const Where& where);
  /// A NIC whose name the excerpt does not show.
  void begin_unnamed_nic(const Where& where);
  /// corrupt_data: no number.
  Status begin_port(std::string_view number, std::string_view line, const Where& where);

  /// nullptr: before the first one, or beyond the limits.
  Nic* nic() { return nic_ < 0 ? nullptr : &reading_.machine.nics[static_cast<std::size_t>(nic_)]; }
  Port* port() { return port_ < 0 ? nullptr : &nic()->ports[static_cast<std::size_t>(port_)]; }
  /// Into the port, or the NIC before its first port. False: no field of either.
  bool set_field(const IbField& field, const Where& where);
  void add_gid(Gid gid, std::string_view index, const Where& where);
  void skip(const Where& where, std::string_view text, std::string reason);
  Where where(int line) const { return {reading_.file, line}; }

  /// corrupt_data: not one NIC.
  Result<Reading> finish();

 private:
  Reading reading_{};
  std::map<std::string, int, std::less<>> nics_by_name_{};
  int nic_ = -1;
  int port_ = -1;
};

}  // namespace ringcomm::inline v0::topology
