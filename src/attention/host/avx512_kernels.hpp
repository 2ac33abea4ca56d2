// SPDX-License-Identifier: Apache-2.0
// The AVX-512 tile kernels; call them only on CpuLevel::avx512_bf16.
#pragma once

#include "attention/host/tile_ops.hpp"

namespace ringcomm::inline v0::attention::host {

/// bfloat16 by VDPBF16PS: weights are rounded to bfloat16, sums are fp32. `head_dim` is 64 or 128.
TileOps avx512_dot_ops(int head_dim);

enum class TileStorage : std::uint8_t { float32, bfloat16, float16 };

/// Any storage by fp32 fused multiply-add; 16-bit K and V are widened once per KV tile.
TileOps avx512_fma_ops(TileStorage storage, int head_dim);

/// Runs `rounds` of register-only arithmetic and returns its floating-point operations.
using PeakLoop = double (*)(std::int64_t rounds);
double avx512_dot_peak_loop(std::int64_t rounds);
double avx512_fma_peak_loop(std::int64_t rounds);

}  // namespace ringcomm::inline v0::attention::host
