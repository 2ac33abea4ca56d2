// SPDX-License-Identifier: Apache-2.0
// The file that --calibrate writes.
#include <nlohmann/json.hpp>

#include "calibrate.hpp"

namespace ringcomm::perf {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ClassResult& result, std::size_t large_bytes, int samples) {
  const auto& times = result.times;
  return {{"class", name_of(result.pair.path_class)},
          {"alpha_us", times.small_us.p50},
          {"gb_per_s", gb_per_s_of(times, large_bytes)},
          {"from", result.pair.from},
          {"to", result.pair.to},
          {"transport", result.transport},
          {"samples", samples},
          {"spread",
           {{"small_us", {times.small_us.min, times.small_us.max}},
            {"large_us", {times.large_us.min, times.large_us.max}},
            {"large_bytes", large_bytes}}}};
}

}  // namespace

std::string format_costs(const Calibration& calibration) {
  Json classes = Json::array();
  for (const auto& result : calibration.classes)
    classes.push_back(to_json(result, calibration.large_bytes, calibration.samples));
  Json document{
      {"ringcomm_costs", 1},
      {"between", "host ranks"},
      {"date", calibration.date},
      {"command", calibration.command},
      {"machine", {{"cpu", calibration.cpu}, {"ranks", calibration.ranks}, {"launch", calibration.launch}}},
      {"classes", classes}};
  const MergeLimits& merge = calibration.merge;
  for (const auto& [key, value] :
       {std::pair{"ranks", merge.ranks}, std::pair{"one_shot_bytes", merge.one_shot_bytes},
        std::pair{"copied_one_shot_bytes", merge.copied_one_shot_bytes},
        std::pair{"cache_bytes", merge.cache_bytes}}) {
    if (value > 0) document["merge"][key] = value;
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringcomm::perf
