// SPDX-License-Identifier: Apache-2.0
// The model, the work and the split into ranks, as plain numbers, with the rules of what must divide what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/attention/layout.hpp"
#include "ringcomm/attention/mask.hpp"
#include "ringcomm/core/dtype.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::planner {

/// A dense decoder. What is absent was not given: weights that need it are then unknown.
struct ModelShape {
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  std::optional<int> hidden{};
  std::optional<int> ffn{};
  std::optional<int> vocab{};
  bool is_gated = true;  ///< the feed-forward has three matrices (SwiGLU), not two
  bool is_tied = false;  ///< the output layer shares the embedding
  DType dtype = DType::bfloat16;
  Mask mask = Mask::causal;
};

enum class Phase : std::uint8_t {
  forward,  ///< prefill: one pass, K and V of all layers stay as KV cache
  train     ///< forward and backward, gradients, Adam
};
enum class Recompute : std::uint8_t { none, full };

struct Work {
  std::int64_t tokens = 0;  ///< of one sequence
  std::int64_t batch = 1;   ///< sequences in one step, over all data-parallel groups
  std::int64_t micro_batch = 1;
  std::int64_t new_tokens = 0;  ///< generated after the pass: room in the KV cache
  Phase phase = Phase::forward;
  Recompute recompute = Recompute::none;
  bool shards_optimizer = false;   ///< over DP x CP
  std::optional<Layout> layout{};  ///< absent: zigzag for a causal mask, else contiguous
};

/// ranks = tp * cp * pp * dp.
struct Split {
  int tp = 1, cp = 1, pp = 1, dp = 1;
  int ranks() const { return tp * cp * pp * dp; }
  friend bool operator==(const Split&, const Split&) = default;
};

/// Fills head_dim from hidden / heads (or hidden from their product) and kv_heads from heads, with a sentence
/// for each in `assumed`. invalid_argument names the number that is missing, or the two that do not divide.
Status complete(ModelShape& shape, std::vector<std::string>& assumed);
/// invalid_argument names the two numbers, and the flags that give them.
Status check_split(const ModelShape& shape, const Work& work, const Split& split);
Status check_work(const Work& work);

/// KV heads that one TP rank holds: kv_heads / tp, at least one (then each is on several ranks).
int kv_heads_per_rank(const ModelShape& shape, int tp);
Layout layout_of(const ModelShape& shape, const Work& work);

/// Parameters, exactly: attention and feed-forward without biases, two norms a layer, one at the end.
struct Parameters {
  std::optional<double> layer_attention{};  ///< of one TP rank: Q, K, V, O
  std::optional<double> layer_ffn{};        ///< of one TP rank
  std::optional<double> layer_norms{};      ///< replicated
  std::optional<double> embedding{};        ///< of one TP rank, with the output layer and the last norm
  std::optional<double> per_rank{};         ///< of one rank of the stage that has most
};
Parameters parameters(const ModelShape& shape, const Split& split);

/// K and V of one sequence in all layers, over all ranks: 2 * tokens * kv_heads * head_dim * bytes * layers.
double kv_bytes_of_sequence(const ModelShape& shape, std::int64_t tokens);

std::string_view name_of(Phase phase);
std::string_view name_of(Layout layout);
std::string_view name_of(Mask mask);

}  // namespace ringcomm::planner
