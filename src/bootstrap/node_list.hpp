// SPDX-License-Identifier: Apache-2.0
// Slurm's way to write many hosts in few letters, as far as the first host needs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ringcomm::inline v0::bootstrap {

/// "node7" of "node7,node9"; "node01" of "node[01-03,5]"; nothing for forms that are not understood.
std::optional<std::string> first_node(std::string_view list);

}  // namespace ringcomm::inline v0::bootstrap
