// SPDX-License-Identifier: Apache-2.0
// The vector kernels' exp2 as plain functions: only their source files are compiled for more than the
// baseline.
#pragma once

namespace ringcomm::inline v0::attention {

/// results[i] = 2^values[i] for 16 values. False without AVX-512 (or AVX2) in this build.
bool avx512_exp2_of_16(const float* values, float* results);
bool avx2_exp2_of_16(const float* values, float* results);

}  // namespace ringcomm::inline v0::attention
