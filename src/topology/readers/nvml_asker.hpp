// SPDX-License-Identifier: Apache-2.0
// One NVML query: calls it, and notes why it gave nothing.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/nvml_api.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nvml {

inline Where here() { return {.file = "NVML", .line = 0}; }

class Asker {
 public:
  Asker(std::string subject, std::vector<Skipped>& skipped)
      : subject_(std::move(subject)), skipped_(skipped) {}

  /// True when the function is there and succeeded.
  template <class... Parameters, class... Arguments>
  bool operator()(const char* what, Return (*function)(Parameters...), Arguments... arguments) const {
    if (function == nullptr) return fail(what, "this driver's NVML lacks the query");
    const Return error = function(arguments...);
    if (error == kSuccess) return true;
    return fail(what, error == kNotSupported ? "not supported by this GPU" : concat("NVML error ", error));
  }

 private:
  bool fail(const char* what, std::string reason) const {
    add_skipped(skipped_, here(), concat(subject_, " ", what), std::move(reason));
    return false;
  }

  std::string subject_;
  std::vector<Skipped>& skipped_;
};

}  // namespace ringcomm::inline v0::topology::nvml
