// SPDX-License-Identifier: Apache-2.0
// Machines changed on purpose: other numbers for the GPUs, more links, one value blanked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::topology_properties {

/// A permutation of the GPUs that keeps each on its host: [gpus], new position -> old position.
std::vector<int> shuffled_gpus(const Machine& machine, unsigned seed);
/// The same machine with its GPUs in another order and numbered anew in that order; whatever refers to a GPU
/// follows. Bus ids stay with their GPU.
MergedEvidence with_gpus_in_order(MergedEvidence evidence, const std::vector<int>& old_position);
/// Every count of NVLinks times `factor`.
MergedEvidence with_links_times(MergedEvidence evidence, int factor);

struct Blank {
  std::string name{};  ///< "pci[3].link.width"
  std::function<void(MergedEvidence&)> apply{};
};
/// One entry for each known value that may be absent; of more than `most` of one kind an even sample.
/// PciDevice::parent is left out: its absence also means "at the root".
std::vector<Blank> blanks_of(const MergedEvidence& evidence, std::size_t most);

}  // namespace ringcomm::topology_properties
