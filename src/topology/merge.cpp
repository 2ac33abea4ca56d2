// SPDX-License-Identifier: Apache-2.0
// Lays readings over each other; what differs is reported and never resolved in silence.
#include <iterator>
#include <set>
#include <tuple>

#include "topology/merge/merger.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0 {
namespace topology {
namespace {

/// The weakest come last: a log's words may be torn, and lspci has no numbers of its own, so that it is
/// joined best when all other bus ids are there.
int weight_of(std::string_view format) { return format == "lspci" ? 2 : format == "nccl-log" ? 1 : 0; }

}  // namespace

void Merger::add_all(const std::vector<Reading>& readings) {
  for (const Reading& reading : readings) add_host_names(reading);
  for (const int weight : {0, 1, 2}) {
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (weight_of(readings[i].format) == weight) add(readings[i], i);
    }
  }
}

void Merger::add(const Reading& reading, std::size_t position) {
  at_ = {};
  at_.hosts = hosts_of_readings_[position];
  add_places(reading);
  add_pci(reading);
  add_gpus(reading);
  add_nics(reading);
  add_links(reading);
  add_stated_paths(reading);
  add_p2p(reading);
  compare_counts(reading);
  compare_link_totals(reading);
  auto& machine = merged_.machine;
  machine.has_gpu_evidence |= reading.machine.has_gpu_evidence;
  machine.has_nic_evidence |= reading.machine.has_nic_evidence;
  machine.has_link_evidence |= reading.machine.has_link_evidence;
  if (weight_of(reading.format) == 0) strong_gpus_ = machine.gpus.size();
  ++readings_added_;
}

MergedEvidence Merger::take() {
  compare_stated_link_counts();
  sort_machine(merged_.machine);
  std::set<std::tuple<std::string, std::string, std::string>> told;
  std::erase_if(merged_.contradictions,
                [&](const Contradiction& c) { return !told.emplace(c.subject, c.first, c.second).second; });
  return std::move(merged_);
}

}  // namespace topology

namespace {

template <class T>
void append(std::vector<T>& target, std::vector<T>& source) {
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
}

}  // namespace

MergedEvidence merge_evidence(std::vector<Reading> readings) {
  MergedEvidence merged;
  if (readings.size() == 1) {
    merged.machine = std::move(readings[0].machine);
  } else {
    topology::Merger merger;
    merger.add_all(readings);
    merged = merger.take();
  }
  for (Reading& reading : readings) {
    append(merged.job.graphs, reading.job.graphs);
    append(merged.job.rings, reading.job.rings);
    append(merged.job.events, reading.job.events);
    append(merged.skipped, reading.skipped);
  }
  return merged;
}

}  // namespace ringcomm::inline v0
