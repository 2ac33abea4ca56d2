// SPDX-License-Identifier: Apache-2.0
// Attention over keys that this process can read, block by block, by the kernel that ring attention uses: for
// a decode step over a shard of the keys, for programs that move blocks by themselves, and as the yardstick
// of what communication adds.
#pragma once

#include <cstdint>
#include <memory>

#include "ringcomm/attention/mask.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

struct LocalAttentionSpec {
  std::int64_t q_rows = 0;
  int q_heads = 1;
  int kv_heads = 1;    ///< divides q_heads; query head h reads KV head h / (q_heads / kv_heads)
  int head_dim = 128;  ///< 32, 64, 96, 128, 192 or 256
  DType dtype = DType::bfloat16;
  float scale = 0.0F;  ///< 0 means 1/sqrt(head_dim)
  /// A float32 out lies in a window for peers to read: it is written around the caches while the lines that
  /// they still hold from the last call are slow to write. Only speed depends on it.
  bool peers_read_out = false;
  int workers = 1;  ///< compute threads, the caller among them
  Placement placement{};
};

/// Query rows [q_first, q_first + q_count) and what they see of a block: the band is on i' - j', with i'
/// counted from q_first and j' from the block's first key.
struct LocalRange {
  std::int64_t q_first = 0, q_count = 0;
  VisibleBand visible{};  ///< default: every key
};

/// Local: no rank, no communication. The running state of every query (maximum, sum, unnormalised output) is
/// carried in fp32 between blocks and normalised once, in finish(). One thread at a time. Nothing is
/// allocated after create().
class LocalAttention {
 public:
  /// not_available names head_dim, dtype or level that no kernel has, invalid_argument the sizes that cannot
  /// be, out_of_memory the bytes of state: q_rows, rounded up to 64 (up to
  /// 16 rows: to 16), x q_heads x (head_dim + 2) x 4 bytes.
  static Result<LocalAttention> create(const LocalAttentionSpec& spec);
  LocalAttention(LocalAttention&&) noexcept;
  LocalAttention& operator=(LocalAttention&&) noexcept;
  ~LocalAttention();

  /// Forgets all keys and takes q [q_rows, q_heads, head_dim] (any strides with a contiguous last axis; read
  /// until finish). Wrong shapes: invalid_argument, and nothing has happened; so for all calls.
  Status begin(const TensorView& q);
  /// Adds keys k and v [rows, kv_heads, head_dim] (as q), which every query sees. They may be overwritten
  /// afterwards. Zero rows are legal.
  Status add(const TensorView& k, const TensorView& v);
  /// Adds keys for some queries, of which each sees those in the band. Each (query, key) pair counts as often
  /// as it is added.
  Status add(const LocalRange& range, const TensorView& k, const TensorView& v);
  /// Writes out [q_rows, q_heads, head_dim], of the spec's dtype or float32 (a partial that is merged with
  /// others must not be rounded twice), and lse [q_heads, q_rows], fp32, natural log, any strides. Rows that
  /// saw no key get 0 and -inf.
  Status finish(const TensorView& out, const TensorView& lse);

  CpuLevel level() const;

 private:
  struct Impl;
  explicit LocalAttention(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
