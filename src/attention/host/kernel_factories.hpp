// SPDX-License-Identifier: Apache-2.0
// One factory per host block kernel, so that only the registry knows them all.
#pragma once

#include <memory>

#include "attention/block_kernel.hpp"
#include "attention/host/tile_ops.hpp"

namespace ringcomm::inline v0::attention::host {

/// Portable C++, any dtype of KernelShape; also the reference that the vector kernels are judged by. The
/// shape must have passed BlockKernel::create's checks. Throws std::bad_alloc.
std::unique_ptr<BlockKernel> make_scalar_kernel(const KernelShape& shape, WorkerTeam& team);

/// Drives the vector tile kernel `ops` of `level`, which must suit the shape's dtype. Throws std::bad_alloc.
///
/// Work is split by (kv head, group of query tiles); every query tile meets the KV tiles in their order
/// whoever computes it, so that results are the same bits for any number of workers.
std::unique_ptr<BlockKernel> make_tiled_kernel(const KernelShape& shape, const TileOps& ops, CpuLevel level,
                                               WorkerTeam& team);

/// How a shape is computed on CpuLevel::avx512_bf16.
enum class Bf16Arithmetic : unsigned char {
  dot,   ///< VDPBF16PS
  widen  ///< fp32 fused multiply-add on widened K and V
};
/// VDPBF16PS does 64 flop a cycle on AMD Zen 4 (twice fp32), but 32 on Intel Sapphire Rapids (half of fp32;
/// measured: 83 against 166 GFLOP/s), where widening is faster and also more exact.
Bf16Arithmetic faster_bf16_arithmetic();
/// The tile kernel of a dtype on a level above scalar; `arithmetic` matters to bfloat16 on avx512_bf16 only.
TileOps vector_ops(CpuLevel level, DType dtype, Bf16Arithmetic arithmetic, TileWidth width);
/// Results are the same bits with either.
constexpr TileWidth faster_tile_width(std::int64_t q_rows) {
  return q_rows <= kNarrowTileQueries ? TileWidth::narrow : TileWidth::wide;
}

}  // namespace ringcomm::inline v0::attention::host
