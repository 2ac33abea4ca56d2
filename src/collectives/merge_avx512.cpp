// SPDX-License-Identifier: Apache-2.0
#define RINGCOMM_MERGE_BYTES 64
#include "collectives/merge_level.hpp"

namespace ringcomm::inline v0::collectives {

MergeKernels merge_kernels_avx512() { return {"avx512", merge_statistics, merge_row}; }

}  // namespace ringcomm::inline v0::collectives
