// SPDX-License-Identifier: Apache-2.0
// The vector kernels' exp2 as a plain function: only its source file is compiled for AVX-512.
#pragma once

namespace ringcomm::inline v0::attention {

/// results[i] = 2^values[i] for 16 values. False without AVX-512 in this build.
bool exp2_of_16(const float* values, float* results);

}  // namespace ringcomm::inline v0::attention
