// SPDX-License-Identifier: Apache-2.0
// One block of attention on the host: queries of one rank against the keys of one part, added to the running
// state.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ringcomm/attention/mask.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0::attention {

/// K and V alike; the kernels take any multiple of 32, and these are tested.
inline constexpr std::array kHeadDims{32, 64, 96, 128, 192, 256};
inline constexpr std::string_view kHeadDimsText = "32, 64, 96, 128, 192 and 256";
constexpr bool is_head_dim(int dim) { return std::ranges::find(kHeadDims, dim) != kHeadDims.end(); }

/// Running softmax state of all query rows and heads of a rank, carried across ring steps in fp32 and
/// normalised once. Layout is the kernel's own (tiles of queries); state_bytes() says how much.
struct KernelShape {
  std::int64_t q_rows = 0;
  int q_heads = 1,
      kv_heads = 1;   ///< q_heads is a multiple of kv_heads; q head h reads kv head h / (q_heads/kv_heads)
  int head_dim = 64;  ///< one of kHeadDims
  DType dtype = DType::float32;  ///< of q, k, v and out: float32, bfloat16, float16
  float scale = 1.0F;            ///< multiplies q.k; natural-base softmax
  bool peers_read_out = false;   ///< a float32 out may be written around the caches
};

/// Keys [k rows] visible to queries by `band` on (i' - j'), both counted from the first row of the ranges
/// below.
struct BlockRange {
  std::int64_t q_first = 0, q_count = 0;  ///< rows of this rank's q
  VisibleBand local{};                    ///< ignored when is_full
  bool is_full = false;
};

/// Holds scratch and running state, allocated at creation; nothing is allocated afterwards.
///
/// Results are the same bits for any number of workers; cutting the keys into other blocks changes rounding
/// only. A NaN or infinity in k or v reaches exactly the rows that see it; memory outside the views is never
/// read.
class BlockKernel {
 public:
  /// not_available names the clause (head_dim, dtype, level) that no kernel has; invalid_argument the sizes
  /// that cannot be; out_of_memory the bytes of state and the limit. `level` picks the implementation.
  static Result<std::unique_ptr<BlockKernel>> create(const KernelShape& shape, CpuLevel level,
                                                     WorkerTeam& team);
  virtual ~BlockKernel() = default;
  /// Starts a forward pass: empties the state and takes q [q_rows, q_heads, head_dim] (strided view, read
  /// until finish).
  virtual void begin(const TensorView& q) = 0;
  /// Adds keys k, v [rows, kv_heads, head_dim] (strided views; last axis contiguous) for the queries of
  /// `range`.
  virtual void accumulate(const BlockRange& range, const TensorView& k, const TensorView& v) = 0;
  /// Writes out [q_rows, q_heads, head_dim] and lse [q_heads, q_rows] (fp32, natural log; any strides); rows
  /// that saw no key get 0 and -inf. `out` is of shape.dtype, or float32 whatever that is: a partial that is
  /// merged with other ranks' must not be rounded twice (attention spec 6.9).
  virtual void finish(const TensorView& out, const TensorView& lse) = 0;
  virtual std::size_t state_bytes() const = 0;
  virtual CpuLevel level() const = 0;
};

}  // namespace ringcomm::inline v0::attention
