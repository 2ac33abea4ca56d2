// SPDX-License-Identifier: Apache-2.0
#define RINGCOMM_MERGE_BYTES 16
#include "collectives/merge_level.hpp"

namespace ringcomm::inline v0::collectives {

MergeKernels merge_kernels_portable() { return {"portable", merge_statistics, merge_row}; }

}  // namespace ringcomm::inline v0::collectives
