// SPDX-License-Identifier: Apache-2.0
// What NCCL and UCX call the ports of a NIC.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0 {
namespace {

/// "NIC3" of nvidia-smi's columns and "NET3" of a graph in a log are numbers in disguise.
bool is_a_number(std::string_view name) {
  if (!name.starts_with("NIC") && !name.starts_with("NET")) return false;
  name.remove_prefix(3);
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Bus ids hold colons; other characters have no place in a line that people copy to a shell.
bool is_real(std::string_view name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && !is_a_number(name) && name.front() != '-' &&
         name.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string_view letters_of(std::string_view name) {
  const auto* const end =
      std::ranges::find_if(name, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
  return name.substr(0, static_cast<std::size_t>(end - name.begin()));
}

/// sysfs gives a port the name of its network interface ("eth7") instead.
bool is_a_device(const Nic& nic, const Port& port) {
  return port.net_index && is_real(port.net_name) && letters_of(port.net_name) == letters_of(nic.name);
}

}  // namespace

std::optional<PortName> port_name(const Nic& nic, std::optional<int> number) {
  const auto found =
      std::ranges::find_if(nic.ports, [&](const Port& port) { return !number || port.number == *number; });
  if (found == nic.ports.end() || !is_a_device(nic, *found)) {
    return is_real(nic.name) ? std::optional(PortName{nic.name, number.value_or(1)}) : std::nullopt;
  }
  // NCCL adds to a device's own port number the number of devices before it on the same card (net_ib.cc).
  const int before = static_cast<int>(found - nic.ports.begin());
  return PortName{found->net_name, std::max(1, found->number - before)};
}

std::vector<std::string> device_names(const Nic& nic) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::max<std::size_t>(nic.ports.size(), 1); ++i) {
    const auto name = port_name(nic, nic.ports.empty() ? std::nullopt : std::optional(nic.ports[i].number));
    if (!name) return {};
    if (std::ranges::find(names, name->device) == names.end()) names.push_back(name->device);
  }
  return names;
}

}  // namespace ringcomm::inline v0
