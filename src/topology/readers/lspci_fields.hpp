// SPDX-License-Identifier: Apache-2.0
// The lines below a device's first line in `lspci -vvv`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

/// Bus numbers of a bridge.
struct LspciBuses {
  int primary = 0;
  int secondary = 0;
};

/// Takes the lines of one device after the other.
class LspciFields {
 public:
  /// The next lines belong to `device`.
  void begin() { label_.clear(); }
  void take(std::string_view line, const Where& where, PciDevice& device, std::vector<Skipped>& skipped);
  /// Of the device that the last lines belonged to.
  std::optional<LspciBuses> take_buses() { return std::exchange(buses_, std::nullopt); }
  bool was_denied() const { return was_denied_; }

 private:
  std::string label_{};  ///< "DevCtl", which goes on over several lines
  std::optional<LspciBuses> buses_{};
  bool was_denied_ = false;
};

}  // namespace ringcomm::inline v0::topology
