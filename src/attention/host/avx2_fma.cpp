// SPDX-License-Identifier: Apache-2.0
// The fp32 kernel on 256-bit vectors, for every storage type: bfloat16 is widened, float16 converted by F16C.
#include "attention/host/avx2_vector.hpp"
#include "attention/host/tile_fma.hpp"
#include "attention/host/vector_kernels.hpp"

namespace ringcomm::inline v0::attention::host {

/// Eight sums, two vectors of queries and a broadcast key fit the 16 registers.
TileOps avx2_fma_ops(TileStorage storage, TileWidth width) {
  return width == TileWidth::wide ? fma_ops_of<FusedMultiplyAdd<Avx2, kWideTileQueries, 4, 2>>(storage)
                                  : fma_ops_of<FusedMultiplyAdd<Avx2, kNarrowTileQueries, 4, 2>>(storage);
}

}  // namespace ringcomm::inline v0::attention::host
