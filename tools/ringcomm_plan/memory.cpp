// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <algorithm>

namespace ringcomm::planner {
namespace {

constexpr double kFloatBytes = 4;

/// Bytes a parameter costs in training beside the weight itself: fp32 gradient, fp32 master copy (none where
/// the weights are fp32), two fp32 moments of Adam. Megatron-LM's table (docs/source/api-guide/
/// dist_optimizer): 18 bytes in all for bf16, 16 for fp32; sharded 6 + 12/d and 8 + 8/d.
double gradient_bytes(const Parameters& parameters) { return *parameters.per_rank * kFloatBytes; }
double optimizer_bytes(const ModelShape& shape, const Work& work, const Split& split,
                       const Parameters& parameters) {
  const double each = bytes_of(shape.dtype) == 4 ? 8 : 12;
  return *parameters.per_rank * each / (work.shards_optimizer ? split.dp * split.cp : 1);
}

/// Elements that a layer keeps for each token until backward, with an attention that saves no scores: input
/// of both norms and their outputs, Q, O, and the feed-forward's inner values (gate, up and product, or inner
/// and activated). K and V are counted on their own.
double saved_elements(const ModelShape& shape, const Split& split) {
  const double hidden = *shape.hidden;
  const double heads = static_cast<double>(shape.heads) * shape.head_dim;
  const double inner = (shape.is_gated ? 3.0 : 2.0) * *shape.ffn;
  return (4 * hidden + 2 * heads + inner) / split.tp;  // sequence parallelism divides the norms' part too
}
/// Live at once in a forward pass: the residual, a norm's output, Q and O, or the feed-forward's inner
/// values.
double live_elements(const ModelShape& shape, const Split& split) {
  const double hidden = *shape.hidden;
  const double attention = 2.0 * shape.heads * shape.head_dim;
  const double inner = (shape.is_gated ? 2.0 : 1.0) * *shape.ffn;
  return 2 * hidden / split.tp + std::max(attention, inner) / split.tp;
}

std::optional<double> activation_bytes(const ModelShape& shape, const Work& work, const Split& split) {
  if (!shape.hidden || !shape.ffn) return std::nullopt;
  const double tokens =
      static_cast<double>(rows_max(shape, work, split.cp)) * static_cast<double>(work.micro_batch);
  const double item = static_cast<double>(bytes_of(shape.dtype));
  if (work.phase == Phase::forward) return tokens * live_elements(shape, split) * item;
  const double lse = kFloatBytes * shape.heads / split.tp;
  const double layer = tokens * (saved_elements(shape, split) * item + lse);
  const double layers = static_cast<double>(shape.layers) / split.pp;
  // The first stage holds as many micro-batches as there are stages (one forward, one backward).
  const double held = split.pp;
  if (work.recompute == Recompute::none) return layer * layers * held;
  return tokens * *shape.hidden / split.tp * item * layers * held + layer;
}

double kv_bytes_per_token(const ModelShape& shape, const Split& split) {
  return 2.0 * kv_heads_per_rank(shape, split.tp) * shape.head_dim *
         static_cast<double>(bytes_of(shape.dtype));
}

}  // namespace

std::int64_t rows_max(const ModelShape& shape, const Work& work, int cp) {
  const std::int64_t chunks = layout_of(shape, work) == Layout::zigzag ? 2 * std::int64_t{cp} : cp;
  if (work.tokens % chunks == 0) return work.tokens / cp;  // all equal
  std::int64_t rows = 0;
  const auto map = ShardMap::create(layout_of(shape, work), work.tokens, cp);
  if (!map.is_ok()) return work.tokens;
  for (int rank = 0; rank < cp; ++rank) rows = std::max(rows, map.value().rows_of(rank));
  return rows;
}

double slot_bytes(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                  const CpPlace& place) {
  if (split.cp == 1) return 0;
  const double batch = static_cast<double>(work.micro_batch);
  const double block =
      static_cast<double>(rows_max(shape, work, split.cp)) * batch * kv_bytes_per_token(shape, split);
  const double length = static_cast<double>(work.tokens) * batch;
  const double item = static_cast<double>(bytes_of(shape.dtype));
  switch (strategy) {
    case Strategy::ring:
      return place.hosts > 1 ? 2 * block : 0;  // inside a host peers' memory is read in place
    case Strategy::double_ring:
      return 3 * block;  // two slots and the outer block
    case Strategy::all_gather:
      return length * kv_bytes_per_token(shape, split);
    case Strategy::all_to_all: {
      const int heads = (shape.heads / split.tp + split.cp - 1) / split.cp;
      const int kv_heads = (kv_heads_per_rank(shape, split.tp) + split.cp - 1) / split.cp;
      return length * (2.0 * heads + 2.0 * kv_heads) * shape.head_dim * item;  // Q, O, K, V of its heads
    }
  }
  return 0;
}

Memory memory_per_rank(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                       const CpPlace& place) {
  Memory memory;
  const auto add = [&memory](std::string_view id, std::string_view what, std::optional<double> bytes) {
    memory.items.push_back({.id = id, .what = what, .bytes = bytes});
    memory.known_bytes += bytes.value_or(0);
    memory.is_complete = memory.is_complete && bytes.has_value();
  };
  const Parameters count = parameters(shape, split);
  const double item = static_cast<double>(bytes_of(shape.dtype));
  const bool is_training = work.phase == Phase::train;
  const double layers = static_cast<double>(shape.layers) / split.pp;
  const double rows = static_cast<double>(rows_max(shape, work, split.cp));
  const auto of_weights = [&](auto&& bytes) -> std::optional<double> {
    if (!count.per_rank) return std::nullopt;
    return bytes();
  };
  add("weights", "weights", of_weights([&] { return *count.per_rank * item; }));
  if (is_training) {
    add("gradients", "gradients, fp32", of_weights([&] { return gradient_bytes(count); }));
    add("optimizer", work.shards_optimizer ? "Adam, over DP x CP" : "Adam, not sharded",
        of_weights([&] { return optimizer_bytes(shape, work, split, count); }));
  }
  // Forward keeps all sequences of the group, training those under way in the pipeline.
  const double sequences = is_training ? static_cast<double>(work.micro_batch) * split.pp
                                       : static_cast<double>(work.batch / split.dp);
  const double saved = is_training && work.recompute == Recompute::full ? 1 : layers;
  add("kv", is_training ? "KV saved for backward" : "KV cache of the sequence, all layers",
      rows * sequences * saved * kv_bytes_per_token(shape, split));
  if (work.new_tokens > 0) {
    const double grown = static_cast<double>((work.new_tokens + split.cp - 1) / split.cp);
    add("kv_new", "KV cache of new tokens", grown * sequences * layers * kv_bytes_per_token(shape, split));
  }
  add("slots", "KV slots and exchanges of attention", slot_bytes(shape, work, split, strategy, place));
  // O in fp32 and LSE with its maximum: attention notes 6.3. All-to-all finishes in one step.
  const double state = strategy == Strategy::all_to_all || split.cp == 1
                           ? 0
                           : rows * static_cast<double>(work.micro_batch) * shape.heads / split.tp *
                                 (shape.head_dim * kFloatBytes + 8);
  add("state", "running output of attention, fp32", state);
  add("activations", "activations", activation_bytes(shape, work, split));
  if (is_training && shape.vocab) {
    add("logits", "logits, fp32",
        rows * static_cast<double>(work.micro_batch) * *shape.vocab / split.tp * kFloatBytes);
  } else if (is_training) {
    add("logits", "logits, fp32", std::nullopt);
  }
  return memory;
}

}  // namespace ringcomm::planner
