// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

constexpr int kSizeMax = 1 << 24;                           // of any one dimension
constexpr std::int64_t kTokensMax = std::int64_t{1} << 31;  // as the library: pairs are counted in 63 bits

Status check_positive(std::string_view what, std::string_view flag, std::int64_t value, std::int64_t max) {
  if (value >= 1 && value <= max) return {};
  if (value == 0) return Status::invalid_argument(concat(what, " is not given: ", flag));
  return Status::invalid_argument(concat(what, " (", flag, ") is ", value, "; 1 to ", max, " are possible"));
}

Status check_divides(std::string_view divisor_name, std::int64_t divisor, std::string_view name,
                     std::int64_t value, std::string_view why) {
  if (value % divisor == 0) return {};
  return Status::invalid_argument(
      concat(divisor_name, " ", divisor, " must divide ", name, " ", value, " (", why, ")"));
}

}  // namespace

Status complete(ModelShape& shape, std::vector<std::string>& assumed) {
  RINGCOMM_TRY(check_positive("the number of layers", "--layers", shape.layers, kSizeMax));
  RINGCOMM_TRY(check_positive("the number of attention heads", "--heads", shape.heads, kSizeMax));
  for (const auto& [name, value] :
       {std::pair{"--hidden", shape.hidden}, {"--ffn", shape.ffn}, {"--vocab", shape.vocab}}) {
    if (value) RINGCOMM_TRY(check_positive(name, name, *value, kSizeMax));
  }
  if (shape.head_dim == 0 && shape.hidden) {
    RINGCOMM_TRY(check_divides("heads", shape.heads, "hidden", *shape.hidden, "or give --head-dim"));
    shape.head_dim = *shape.hidden / shape.heads;
    assumed.push_back(concat("head dim ", shape.head_dim, " = hidden / heads"));
  }
  RINGCOMM_TRY(check_positive("the head dimension", "--head-dim, or --hidden", shape.head_dim, kSizeMax));
  if (!shape.hidden) {
    shape.hidden = shape.heads * shape.head_dim;
    assumed.push_back(concat("hidden ", *shape.hidden, " = heads x head dim"));
  }
  if (shape.kv_heads == 0) {
    shape.kv_heads = shape.heads;
    assumed.push_back(concat("KV heads ", shape.kv_heads, " = heads (no grouped queries)"));
  }
  RINGCOMM_TRY(check_positive("the number of KV heads", "--kv-heads", shape.kv_heads, kSizeMax));
  return check_divides("KV heads", shape.kv_heads, "heads", shape.heads,
                       "each KV head serves as many query heads");
}

Status check_work(const Work& work) {
  RINGCOMM_TRY(check_positive("the sequence length", "--seq", work.tokens, kTokensMax));
  RINGCOMM_TRY(check_positive("the batch", "--batch", work.batch, kSizeMax));
  RINGCOMM_TRY(check_positive("the micro-batch", "--micro-batch", work.micro_batch, kSizeMax));
  if (work.new_tokens >= 0 && work.new_tokens <= kTokensMax) return {};
  return Status::invalid_argument(
      concat("--new-tokens is ", work.new_tokens, "; 0 to ", kTokensMax, " are possible"));
}

Status check_split(const ModelShape& shape, const Work& work, const Split& split) {
  for (const auto& [flag, value] :
       {std::pair{"--tp", split.tp}, {"--cp", split.cp}, {"--pp", split.pp}, {"--dp", split.dp}})
    RINGCOMM_TRY(check_positive(flag, flag, value, kSizeMax));
  RINGCOMM_TRY(check_divides("tp", split.tp, "heads", shape.heads, "each TP rank has as many query heads"));
  if (shape.kv_heads % split.tp != 0 && split.tp % shape.kv_heads != 0) {
    return Status::invalid_argument(
        concat("tp ", split.tp, " must divide KV heads ", shape.kv_heads,
               ", or be a multiple of them (then each KV head is on several ranks)"));
  }
  if (shape.ffn)
    RINGCOMM_TRY(check_divides("tp", split.tp, "ffn", *shape.ffn, "each TP rank has as many columns"));
  RINGCOMM_TRY(
      check_divides("pp", split.pp, "layers", shape.layers, "each pipeline stage has as many layers"));
  RINGCOMM_TRY(
      check_divides("dp", split.dp, "batch", work.batch, "each data-parallel group has as many sequences"));
  return check_divides("micro-batch", work.micro_batch, "batch / dp", work.batch / split.dp,
                       "whole micro-batches only");
}

int kv_heads_per_rank(const ModelShape& shape, int tp) { return std::max(1, shape.kv_heads / tp); }

Layout layout_of(const ModelShape& shape, const Work& work) {
  return work.layout.value_or(shape.mask == Mask::causal ? Layout::zigzag : Layout::contiguous);
}

Parameters parameters(const ModelShape& shape, const Split& split) {
  Parameters result;
  if (!shape.hidden) return result;
  const double hidden = *shape.hidden;
  const double dim = shape.head_dim;
  const double heads = static_cast<double>(shape.heads) / split.tp;
  result.layer_attention = hidden * dim * (2 * heads + 2.0 * kv_heads_per_rank(shape, split.tp));
  result.layer_norms = 2 * hidden;
  if (shape.ffn) result.layer_ffn = (shape.is_gated ? 3 : 2) * hidden * *shape.ffn / split.tp;
  if (shape.vocab) {
    // A pipeline's first stage has the embedding, its last the output layer: one of the two on each.
    const double tables = (shape.is_tied || split.pp > 1) ? 1 : 2;
    result.embedding = tables * hidden * *shape.vocab / split.tp + hidden;
  }
  if (!result.layer_ffn || !result.embedding) return result;
  result.per_rank =
      (*result.layer_attention + *result.layer_ffn + *result.layer_norms) * shape.layers / split.pp +
      *result.embedding;
  return result;
}

double kv_bytes_of_sequence(const ModelShape& shape, std::int64_t tokens) {
  return 2.0 * static_cast<double>(tokens) * shape.kv_heads * shape.head_dim *
         static_cast<double>(bytes_of(shape.dtype)) * shape.layers;
}

std::string_view name_of(Phase phase) { return phase == Phase::forward ? "forward" : "train"; }
std::string_view name_of(Layout layout) { return layout == Layout::zigzag ? "zigzag" : "contiguous"; }
std::string_view name_of(Mask mask) { return mask == Mask::causal ? "causal" : "full"; }

}  // namespace ringcomm::planner
