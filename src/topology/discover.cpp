// SPDX-License-Identifier: Apache-2.0
// The only file of the room besides registries that asks what the build has: hwloc and an XML parser are both
// needed to read the live machine through hwloc.
#include "ringcomm/topology/discover.hpp"

#include <utility>
#include <vector>

#include "ringcomm/config.hpp"
#include "topology/readers/nvml.hpp"
#include "topology/readers/sysfs_ib.hpp"
#include "topology/readers/sysfs_pci.hpp"
#include "topology/readers/text_lines.hpp"
#if RINGCOMM_HAVE_HWLOC && RINGCOMM_HAVE_PUGIXML
#include "topology/readers/hwloc.hpp"
#include "topology/readers/hwloc_xml.hpp"
#endif

namespace ringcomm::inline v0 {
namespace {

Reading not_read(const char* source, const std::string& reason) {
  Reading reading{.file = source, .format = source, .machine = {}, .job = {}, .skipped = {}};
  topology::add_skipped(reading.skipped, {source, 0}, source, reason);
  return reading;
}

#if RINGCOMM_HAVE_HWLOC && RINGCOMM_HAVE_PUGIXML
/// Lines of a text that nobody sees say nothing.
void forget_lines(Reading& reading) {
  Machine& machine = reading.machine;
  const auto forget = [](auto& parts) {
    for (auto& part : parts) part.where.line = 0;
  };
  forget(machine.numa_nodes);
  forget(machine.pci);
  forget(machine.gpus);
  forget(machine.nics);
  for (Nic& nic : machine.nics) forget(nic.ports);
  forget(machine.links);
  forget(machine.stated_paths);
  forget(reading.job.events);
  forget(reading.skipped);
}

Reading read_hwloc() {
  const auto xml = topology::hwloc::export_live_xml();
  if (!xml.is_ok()) return not_read("hwloc", std::string(xml.status().message()));
  auto reading = topology::hwloc_xml::read(xml.value(), "hwloc");
  if (!reading.is_ok()) return not_read("hwloc", std::string(reading.status().message()));
  forget_lines(reading.value());
  return std::move(reading).value();
}
#else
Reading read_hwloc() { return not_read("hwloc", "this build lacks hwloc or pugixml"); }
#endif

Reading read_infiniband(const std::filesystem::path& directory) {
  auto reading = topology::sysfs_ib::read(directory);
  return reading.is_ok() ? std::move(reading).value()
                         : not_read("sysfs InfiniBand", std::string(reading.status().message()));
}

Reading read_nvml() {
  const auto api = topology::nvml::load();
  return api.is_ok() ? topology::nvml::read(api.value())
                     : not_read("NVML", std::string(api.status().message()));
}

}  // namespace

MergedEvidence discover_machine(const DiscoverOptions& options) {
  // The first reading numbers the GPUs, so the driver comes first.
  std::vector<Reading> readings;
  if (options.use_nvml) readings.push_back(read_nvml());
  if (options.use_hwloc && options.root == "/") readings.push_back(read_hwloc());
  readings.push_back(topology::sysfs_pci::read(options.root));
  const auto infiniband = options.root / "sys/class/infiniband";
  if (topology::sysfs_ib::looks_like(infiniband)) readings.push_back(read_infiniband(infiniband));
  return merge_evidence(std::move(readings));
}

}  // namespace ringcomm::inline v0
