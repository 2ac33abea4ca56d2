// SPDX-License-Identifier: Apache-2.0
#include "comm/rotation_mode.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ringcomm::inline v0::comm {
namespace {

/// Time of one step for blocks of one GB, when every rank reads the block `distance` places back.
double step_time(std::span<const Place> places, const std::vector<int>& order, std::size_t distance,
                 const MeasuredSpeeds& speeds) {
  std::map<std::pair<int, int>, int> crossing;
  double slowest = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Place& reader = places[static_cast<std::size_t>(order[at])];
    const std::size_t back = (at + order.size() - distance) % order.size();
    const Place& owner = places[static_cast<std::size_t>(order[back])];
    if (owner.package == reader.package) {
      slowest = std::max(slowest, 1 / speeds.inside);
    } else {
      const int count = ++crossing[{owner.package, reader.package}];
      slowest = std::max(slowest, std::max(1 / speeds.inside, count / speeds.between));
    }
  }
  return slowest;
}

}  // namespace

bool relay_is_faster(std::span<const Place> places, const std::vector<int>& order,
                     const MeasuredSpeeds& speeds) {
  if (order.size() < 2 || speeds.inside <= 0 || speeds.between <= 0) return false;
  for (const Place& place : places) {
    if (place.host != places.front().host || place.package < 0) return false;
  }
  double direct = 0;
  for (std::size_t step = 1; step < order.size(); ++step) direct += step_time(places, order, step, speeds);
  // The relayed block is read once more, by the one who computes on it.
  const double relay =
      static_cast<double>(order.size() - 1) * (step_time(places, order, 1, speeds) + 1 / speeds.inside);
  return relay < direct;
}

}  // namespace ringcomm::inline v0::comm
