// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0 {

Result<std::vector<int>> parse_host_order(std::string_view text, const std::vector<std::string>& names,
                                          const std::string& file) {
  std::vector<int> order;
  std::vector<bool> used(names.size());
  Status status;
  topology::for_each_line(text, [&](std::string_view line, int number) {
    const auto name = topology::trimmed(line.substr(0, line.find('#')));
    if (name.empty() || !status.is_ok()) return;
    std::size_t host = 0;
    while (host < names.size() && (used[host] || names[host] != name)) ++host;
    if (host < names.size()) {
      used[host] = true;
      order.push_back(static_cast<int>(host));
    } else if (std::ranges::find(names, name) == names.end()) {
      status = Status::invalid_argument(
          concat(file, ":", number, ": no host is called '", topology::shown(name), "'"));
    } else {
      status = Status::invalid_argument(
          concat(file, ":", number, ": host '", topology::shown(name), "' comes twice"));
    }
  });
  if (!status.is_ok()) return status;
  if (const auto missing = std::ranges::find(used, false); missing != used.end())
    return Status::invalid_argument(
        concat(file, ": host '", topology::shown(names[static_cast<std::size_t>(missing - used.begin())]),
               "' is missing"));
  return order;
}

}  // namespace ringcomm::inline v0
