// SPDX-License-Identifier: Apache-2.0
// The operations of an fp32 kernel: any storage, on the arithmetic `A`.
#pragma once

#include "attention/host/tile_kernel.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

template <class A, class Storage>
TileOps fma_ops() {
  using V = typename A::V;
  return {.queries = A::kQueries,
          .values_per_unit = 1,
          .has_wide_k = Storage::kBytes != 4,
          .pack_queries = pack_query_tile<V, WidenedUnits<V, Storage>, A::kQueries>,
          .pack_keys = pack_widened_keys<V, Storage>,
          .accumulate = accumulate_tile<A, WidenedValues<V, Storage>>,
          .write_rows = write_tile_rows<V, Storage, A::kQueries>,
          .write_rows_float32 = write_tile_rows<V, Float32Storage<V>, A::kQueries>,
          .write_rows_streamed = write_tile_rows<V, StreamedFloat32<V>, A::kQueries>};
}

template <class A>
TileOps fma_ops_of(TileStorage storage) {
  using V = typename A::V;
  switch (storage) {
    case TileStorage::bfloat16:
      return fma_ops<A, Bfloat16Storage<V>>();
    case TileStorage::float16:
      return fma_ops<A, Float16Storage<V>>();
    case TileStorage::float32:
      break;
  }
  return fma_ops<A, Float32Storage<V>>();
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
