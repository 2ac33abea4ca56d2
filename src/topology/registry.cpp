// SPDX-License-Identifier: Apache-2.0
// Lists the readers that this build has; the only file of the room that asks which vendor is there.
#include <array>
#include <string_view>
#include <utility>

#include "core/affinity.hpp"
#include "ringcomm/config.hpp"
#include "ringcomm/topology/binding.hpp"
#include "topology/readers/affinity_mask.hpp"
#if RINGCOMM_HAVE_HWLOC
#include "topology/readers/hwloc.hpp"
#endif

namespace ringcomm::inline v0 {
namespace {

struct CoreReader {
  std::string_view name;
  std::vector<CoreInfo> (*read)(std::span<const int> allowed_cpus);
};

constexpr std::array kReaders {
#if RINGCOMM_HAVE_HWLOC
  CoreReader{"hwloc", topology::hwloc::read_cores},
#endif
      CoreReader{"affinity mask", topology::affinity_mask::read_cores},
};

/// A reader that leaves out an allowed CPU has not understood this machine; the last one never does.
std::pair<std::string_view, std::vector<CoreInfo>> read_with_the_first_that_can() {
  const auto allowed = allowed_cpus();
  for (const auto& reader : kReaders) {
    auto cores = reader.read(allowed);
    std::size_t cpus = 0;
    for (const auto& core : cores) cpus += core.cpus.size();
    if (cpus == allowed.size()) return {reader.name, std::move(cores)};
  }
  return {"nothing", {}};
}

}  // namespace

std::vector<CoreInfo> discover_cores() { return read_with_the_first_that_can().second; }

std::string core_source() { return std::string(read_with_the_first_that_can().first); }

}  // namespace ringcomm::inline v0
