// SPDX-License-Identifier: Apache-2.0
// The vector tile kernels; call each only on its CpuLevel or a higher one.
#pragma once

#include "attention/host/tile_ops.hpp"

namespace ringcomm::inline v0::attention::host {

/// CpuLevel::avx512_bf16. bfloat16 by VDPBF16PS: weights are rounded to bfloat16, sums are fp32.
TileOps avx512_dot_ops(TileWidth width);
/// CpuLevel::avx512_bf16. Any storage by fp32 fused multiply-add; 16-bit K and V are widened once per KV
/// tile.
TileOps avx512_fma_ops(TileStorage storage, TileWidth width);
/// CpuLevel::avx2. The same on half as wide vectors.
TileOps avx2_fma_ops(TileStorage storage, TileWidth width);

/// Runs `rounds` of register-only arithmetic and returns its floating-point operations.
using PeakLoop = double (*)(std::int64_t rounds);
double avx512_dot_peak_loop(std::int64_t rounds);
double avx512_fma_peak_loop(std::int64_t rounds);
double avx2_fma_peak_loop(std::int64_t rounds);

}  // namespace ringcomm::inline v0::attention::host
