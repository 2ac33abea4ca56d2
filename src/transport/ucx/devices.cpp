// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/devices.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

namespace ringcomm::inline v0::transport::ucx {
namespace {

/// Ports count from 1 in InfiniBand, from 0 in the network's dev_port.
int port_of(const std::filesystem::path& interface) {
  int port = 0;
  std::ifstream(interface / "dev_port") >> port;
  return std::clamp(port, 0, 254) + 1;
}

/// What a bootstrap says that knows its interface.
template <class Group>
std::string interface_of(const Group& group) {
  if constexpr (requires { group.interface_name(); }) {
    return std::string(group.interface_name());
  } else {
    return {};
  }
}

}  // namespace

std::string devices_of(std::string_view interface, const std::filesystem::path& sysfs) {
  const std::filesystem::path folder = sysfs / interface;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder / "device" / "infiniband", error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string() + ":" + std::to_string(port_of(folder)));
  }
  std::ranges::sort(names);
  std::string list;
  for (const std::string& name : names) list += name + ",";
  return list + std::string(interface);
}

std::string devices_for(const Bootstrap& bootstrap) {
  const std::string interface = interface_of(bootstrap);
  if (!interface.empty()) return devices_of(interface);
  return bootstrap.kind() == GroupKind::network ? std::string() : std::string("lo");
}

}  // namespace ringcomm::inline v0::transport::ucx
