// SPDX-License-Identifier: Apache-2.0
#include "fabric.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {

CpPlace place_cp(const Fabric& fabric, const Split& split) {
  CpPlace place;
  place.per_host = std::clamp(fabric.gpus_per_host / split.tp, 1, split.cp);
  place.hosts = (split.cp + place.per_host - 1) / place.per_host;
  place.sharing = std::max(1, fabric.gpus_per_host / place.per_host);
  place.is_even = split.cp % place.per_host == 0;
  return place;
}

Missing missing_numbers(const Fabric& fabric, const Split& split, Phase phase) {
  Missing missing;
  if (!fabric.tflops) missing.compute = "no GPU rate: give --tflops (attained, not the data sheet's)";
  const CpPlace place = place_cp(fabric, split);
  const bool reduces = phase == Phase::train && split.dp * split.cp > 1;  // gradients
  const bool reduces_far = reduces && split.tp * split.cp * split.dp > fabric.gpus_per_host;
  const bool crosses = (split.cp > 1 && place.hosts > 1) || split.tp > fabric.gpus_per_host || reduces_far;
  const bool is_local = fabric.gpus_per_host > 1 &&
                        (split.tp > 1 || place.per_host > 1 || (reduces && fabric.gpus_per_host > split.tp));
  if (is_local && !fabric.local.bandwidth.gb_per_s) {
    missing.transfer =
        concat("no bandwidth for ", fabric.local.name.empty() ? "an edge inside a host" : fabric.local.name,
               ": run ringcomm-perf --calibrate or give --gb-per-s");
  } else if (crosses && !fabric.nics_per_host) {
    missing.transfer = "the number of NICs of a host: give --nics";
  } else if (crosses && !fabric.nic.bandwidth.gb_per_s) {
    missing.transfer = "no bandwidth of a NIC: give --nic-gb-per-s";
  }
  if (is_local && !fabric.local.alpha_us)
    missing.latency = "the latency of a hop inside a host is unknown and left out (--alpha-us)";
  else if (crosses && !fabric.nic.alpha_us)
    missing.latency = "the latency of a hop between hosts is unknown and left out (--nic-alpha-us)";
  return missing;
}

Rates rates_of(const Fabric& fabric) {
  constexpr double kBytesPerUsOfGb = 1e3;
  constexpr double kFlopPerUsOfTera = 1e6;
  return {.flop_per_us = fabric.tflops.value_or(0) * kFlopPerUsOfTera,
          .local_bytes_per_us = fabric.local.bandwidth.gb_per_s.value_or(0) * kBytesPerUsOfGb,
          .local_alpha_us = fabric.local.alpha_us.value_or(0),
          .nic_bytes_per_us = fabric.nic.bandwidth.gb_per_s.value_or(0) * kBytesPerUsOfGb,
          .nic_alpha_us = fabric.nic.alpha_us.value_or(0),
          .nics = std::max(1, fabric.nics_per_host.value_or(1))};
}

}  // namespace ringcomm::planner
