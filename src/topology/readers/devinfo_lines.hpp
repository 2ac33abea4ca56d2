// SPDX-License-Identifier: Apache-2.0
// The lines of `ibv_devinfo`, which GID tables of excerpts share.
#pragma once

#include <string_view>

#include "topology/readers/ib_reading.hpp"

namespace ringcomm::inline v0::topology {

class DevinfoLines {
 public:
  explicit DevinfoLines(IbReading& reading) : reading_(reading) {}

  /// corrupt_data: a device, a port or a GID without its id.
  Status take(std::string_view raw_line, int number);

 private:
  Status take_gid(std::string_view line, const Where& where);
  bool set_model(const IbField& field);

  IbReading& reading_;
  bool is_mellanox_ = false;
};

}  // namespace ringcomm::inline v0::topology
