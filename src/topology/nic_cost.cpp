// SPDX-License-Identifier: Apache-2.0
#include "topology/nic_cost.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "topology/detour.hpp"
#include "topology/device_place.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// What NICs share on their way to the CPU: the highest bridge above them, else the card. Nothing: unknown.
std::optional<std::string> uplink_of(const Machine& machine, const DevicePlace& place) {
  if (place.chain.size() > 1) return machine.pci[static_cast<std::size_t>(place.chain.back())].id.to_text();
  if (!place.bus) return std::nullopt;
  PciBusId card = *place.bus;
  card.function = 0;
  return card.to_text();
}

/// [rows.nics] how many NICs before it, in bus order, share its uplink; and of how many. A bridge that
/// carries all of its NICs at once counts as not shared.
struct UplinkPlace {
  std::int64_t before = 0;
  std::int64_t nics = 1;
};

std::vector<UplinkPlace> uplink_places(const Machine& machine, const PathMatrix& paths, const NicRows& rows) {
  struct Uplink {
    std::optional<double> gb_per_s{};
    std::optional<double> wanted = 0;
    std::vector<std::size_t> nics{};
  };
  std::map<std::string, Uplink> uplinks;
  for (std::size_t i = 0; i < rows.nics.size(); ++i) {
    const auto device = paths.devices[rows.nics[i]];
    const DevicePlace place = place_of(machine, device);
    const auto name = uplink_of(machine, place);
    if (!name) continue;
    auto& uplink = uplinks[*name];
    uplink.gb_per_s = machine.pci.empty() || place.chain.empty()
                          ? std::nullopt
                          : machine.pci[static_cast<std::size_t>(place.chain.back())].link.gb_per_s();
    const auto rate = port_gb_per_s(machine.nics[static_cast<std::size_t>(device.position)]);
    uplink.wanted = uplink.wanted && rate ? std::optional(*uplink.wanted + *rate) : std::nullopt;
    uplink.nics.push_back(i);
  }
  std::vector<UplinkPlace> places(rows.nics.size());
  for (const auto& [name, uplink] : uplinks) {
    if (uplink.gb_per_s && uplink.wanted && *uplink.gb_per_s >= *uplink.wanted) continue;
    for (std::size_t i = 0; i < uplink.nics.size(); ++i) {
      places[uplink.nics[i]] = {.before = static_cast<std::int64_t>(i),
                                .nics = static_cast<std::int64_t>(uplink.nics.size())};
    }
  }
  return places;
}

/// Class, then the NICs whose uplink it would share, then the rate, then the GPUs that the NIC already
/// serves, then the distance in the order of bus ids; each part smaller than one step of the part before it.
class CostOfChoice {
 public:
  CostOfChoice(const Machine& machine, const PathMatrix& paths, const NicRows& rows, std::size_t copies)
      : machine_(machine),
        paths_(paths),
        rows_(rows),
        copies_(copies),
        uplinks_(uplink_places(machine, paths, rows)) {
    for (const std::size_t nic : rows.nics) {
      const auto rate = port_gb_per_s(nic_at(nic));
      if (rate) rates_.push_back(*rate);
    }
    std::ranges::sort(rates_, std::greater<>());
    rates_.erase(std::unique(rates_.begin(), rates_.end()), rates_.end());
  }

  MatchCost operator()(std::size_t row, std::size_t column) const {
    const std::size_t nic = column / copies_;
    const auto copy = static_cast<std::int64_t>(column % copies_);
    const auto path_class = static_cast<std::int64_t>(paths_.at(rows_.gpus[row], rows_.nics[nic]).path_class);
    const auto rate = port_gb_per_s(nic_at(rows_.nics[nic]));
    const std::int64_t slower = std::ranges::find(rates_, rate.value_or(-1)) - rates_.begin();
    // Of the GPUs that an uplink serves the first takes no other's share, the second one's, ...
    const std::int64_t sharing = (copy * uplinks_[nic].nics) + uplinks_[nic].before;
    // Squares of the distance are least when both orders run the same way.
    const auto wanted = static_cast<std::int64_t>(row * rows_.nics.size() / rows_.gpus.size());
    const auto apart = static_cast<std::int64_t>(nic) - wanted;
    return {.first = (path_class * kClassStep) + (sharing * kUplinkStep) + slower,
            .second = (copy * kLoadStep) + (apart * apart)};
  }

 private:
  // A matrix has at most 512 devices. Sums over 512 rows: rates below 2^18; uplinks, each shared by at most
  // 1,024 columns, below 2^19 steps; squares below 2^27; loads below 2^18 steps.
  static constexpr std::int64_t kUplinkStep = std::int64_t{1} << 18;
  static constexpr std::int64_t kClassStep = std::int64_t{1} << 37;
  static constexpr std::int64_t kLoadStep = std::int64_t{1} << 27;

  const Nic& nic_at(std::size_t position) const {
    return machine_.nics[static_cast<std::size_t>(paths_.devices[position].position)];
  }

  const Machine& machine_;
  const PathMatrix& paths_;
  const NicRows& rows_;
  std::size_t copies_;
  std::vector<UplinkPlace> uplinks_;
  std::vector<double> rates_;
};

}  // namespace

std::vector<MatchCost> nic_costs(const Machine& machine, const PathMatrix& paths, const NicRows& rows,
                                 std::size_t copies) {
  const CostOfChoice cost(machine, paths, rows, copies);
  std::vector<MatchCost> costs;
  for (std::size_t row = 0; row < rows.gpus.size(); ++row) {
    for (std::size_t column = 0; column < rows.nics.size() * copies; ++column)
      costs.push_back(cost(row, column));
  }
  return costs;
}

}  // namespace ringcomm::inline v0::topology
