// SPDX-License-Identifier: Apache-2.0
// Picks the host block kernel for a shape and an instruction level, and refuses what none computes.
#include <cmath>
#include <new>

#include "attention/block_kernel.hpp"
#include "attention/host/kernel_factories.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::attention {
namespace {

Status check_shape(const KernelShape& shape) {
  if (shape.head_dim != 64 && shape.head_dim != 128) {
    return Status::not_available(
        concat("no block kernel for head_dim ", shape.head_dim, " (64 and 128 are supported)"));
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

}  // namespace

Result<std::unique_ptr<BlockKernel>> BlockKernel::create(const KernelShape& shape, CpuLevel,
                                                         WorkerTeam& team) {
  RINGCOMM_TRY(check_shape(shape));
  try {
    return host::make_scalar_kernel(shape, team);
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat("running softmax state of ", shape.q_rows, " query rows x ",
                                        shape.q_heads, " heads x ", shape.head_dim,
                                        " does not fit in memory"));
  }
}

}  // namespace ringcomm::inline v0::attention
