// SPDX-License-Identifier: Apache-2.0
// Picks the host block kernel for a shape and an instruction level, and refuses what none computes.
#include <cmath>
#include <new>

#include "attention/block_kernel.hpp"
#include "attention/host/kernel_factories.hpp"
#include "attention/host/vector_kernels.hpp"
#include "core/try.hpp"
#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::attention {
namespace {

Status check_shape(const KernelShape& shape) {
  if (!is_head_dim(shape.head_dim)) {
    return Status::not_available(
        concat("no block kernel for head_dim ", shape.head_dim, " (", kHeadDimsText, " are supported)"));
  }
  if (shape.dtype != DType::float32 && shape.dtype != DType::bfloat16 && shape.dtype != DType::float16) {
    return Status::not_available(concat("no block kernel for dtype ", name_of(shape.dtype),
                                        " (float32, bfloat16 and float16 are supported)"));
  }
  if (shape.q_rows < 0) {
    return Status::invalid_argument(concat("block kernel for ", shape.q_rows, " query rows (negative)"));
  }
  if (shape.kv_heads < 1 || shape.q_heads < 1 || shape.q_heads % shape.kv_heads != 0) {
    return Status::invalid_argument(concat("block kernel for ", shape.q_heads, " query heads over ",
                                           shape.kv_heads,
                                           " kv heads (kv_heads >= 1 must divide q_heads >= 1)"));
  }
  if (!std::isfinite(shape.scale)) {
    return Status::invalid_argument(concat("block kernel with scale ", double{shape.scale}, " (not finite)"));
  }
  return {};
}

/// Counts the state only: what a worker needs beside it is below 2 MiB.
Status check_memory(const KernelShape& shape) {
  const std::string what =
      concat("softmax state of ", shape.q_rows, " query rows x ", shape.q_heads, " heads x ", shape.head_dim);
  std::uint64_t bytes = 0;
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(shape.head_dim + 2) * sizeof(float);
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(shape.q_rows), shape.q_heads, &bytes) ||
      __builtin_mul_overflow(bytes, row_bytes, &bytes)) {
    return Status::out_of_memory(concat(what, " exceeds 64-bit addresses"));
  }
  return check_fits(read_limits(), bytes, MemoryUse::plain, what);
}

}  // namespace

namespace host {

Bf16Arithmetic faster_bf16_arithmetic() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") != 0) return Bf16Arithmetic::dot;
#endif
  return Bf16Arithmetic::widen;
}

TileOps vector_ops(CpuLevel level, DType dtype, Bf16Arithmetic arithmetic, TileWidth width) {
#if defined(__x86_64__)
  const TileStorage storage = dtype == DType::bfloat16  ? TileStorage::bfloat16
                              : dtype == DType::float16 ? TileStorage::float16
                                                        : TileStorage::float32;
  if (level == CpuLevel::avx2) return avx2_fma_ops(storage, width);
  const bool is_dot = storage == TileStorage::bfloat16 && arithmetic == Bf16Arithmetic::dot;
  return is_dot ? avx512_dot_ops(width) : avx512_fma_ops(storage, width);
#else
  static_cast<void>(level), static_cast<void>(dtype), static_cast<void>(arithmetic), static_cast<void>(width);
  return {};
#endif
}

}  // namespace host

Result<std::unique_ptr<BlockKernel>> BlockKernel::create(const KernelShape& shape, CpuLevel level,
                                                         WorkerTeam& team) {
  RINGCOMM_TRY(check_shape(shape));
  RINGCOMM_TRY(check_memory(shape));
  if (level > best_cpu_level()) {
    return Status::not_available(concat("block kernel for CPU level ", name_of(level), " (this CPU runs ",
                                        name_of(best_cpu_level()), " at most)"));
  }
  try {
    if (level == CpuLevel::scalar) return host::make_scalar_kernel(shape, team);
    const host::TileOps ops = host::vector_ops(level, shape.dtype, host::faster_bf16_arithmetic(),
                                               host::faster_tile_width(shape.q_rows));
    return host::make_tiled_kernel(shape, ops, level, team);
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat("softmax state of ", shape.q_rows, " query rows x ", shape.q_heads,
                                        " heads x ", shape.head_dim, " was refused by the allocator"));
  }
}

}  // namespace ringcomm::inline v0::attention
