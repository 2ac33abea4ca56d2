// SPDX-License-Identifier: Apache-2.0
// The fp32 kernel, also for 16-bit storage where VDPBF16PS is missing (float16) or slow (see
// kernel_factories.hpp).
#include "attention/host/avx512_vector.hpp"
#include "attention/host/tile_fma.hpp"
#include "attention/host/vector_kernels.hpp"

namespace ringcomm::inline v0::attention::host {

/// 16 sums hide the latency of the multiply-add.
TileOps avx512_fma_ops(TileStorage storage, TileWidth width) {
  return width == TileWidth::wide ? fma_ops_of<FusedMultiplyAdd<Avx512, kWideTileQueries, 4, 4>>(storage)
                                  : fma_ops_of<FusedMultiplyAdd<Avx512, kNarrowTileQueries, 8, 1>>(storage);
}

}  // namespace ringcomm::inline v0::attention::host
