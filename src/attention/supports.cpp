// SPDX-License-Identifier: Apache-2.0
// The one capability query of attention: what is refused, with the clause.
#include <cmath>
#include <string>

#include "attention/block_kernel.hpp"
#include "attention/spec_check.hpp"
#include "core/try.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

std::string_view attention::name_of(AttentionStrategy strategy) {
  switch (strategy) {
    case AttentionStrategy::automatic:
      return "automatic";
    case AttentionStrategy::ring_direct:
      return "ring_direct";
    case AttentionStrategy::ring_relay:
      return "ring_relay";
    case AttentionStrategy::all_gather:
      return "all_gather";
  }
  return "unknown";
}

namespace {

constexpr std::int64_t kTokensMax = std::int64_t{1} << 31;  // its square still counts pairs in 63 bits
constexpr int kHeadsMax = 1 << 16;
constexpr int kWorkersMax = 1024;

Status check_shape(const AttentionSpec& spec) {
  if (spec.tokens < 0 || spec.tokens > kTokensMax) {
    return Status::invalid_argument(
        concat("attention over ", spec.tokens, " tokens (0 to ", kTokensMax, " are possible)"));
  }
  if (spec.q_heads < 1 || spec.kv_heads < 1 || spec.q_heads > kHeadsMax) {
    return Status::invalid_argument(concat("attention with ", spec.q_heads, " query and ", spec.kv_heads,
                                           " KV heads (1 to ", kHeadsMax, " are possible)"));
  }
  if (spec.q_heads % spec.kv_heads != 0) {
    return Status::invalid_argument(concat(spec.q_heads, " query heads are no multiple of ", spec.kv_heads,
                                           " KV heads (each KV head serves as many query heads)"));
  }
  if (!attention::is_head_dim(spec.head_dim)) {
    return Status::not_available(concat("attention with head_dim ", spec.head_dim, " (kernels exist for ",
                                        attention::kHeadDimsText, ")"));
  }
  const bool is_known_type =
      spec.dtype == DType::float32 || spec.dtype == DType::bfloat16 || spec.dtype == DType::float16;
  if (!is_known_type) {
    return Status::not_available(concat("attention in ",
                                        bytes_of(spec.dtype) == 0
                                            ? concat("dtype ", static_cast<int>(spec.dtype))
                                            : std::string(name_of(spec.dtype)),
                                        " (kernels exist for float32, bfloat16 and float16)"));
  }
  if (!std::isfinite(spec.scale) || spec.scale < 0) {
    return Status::invalid_argument(concat("attention scale ", static_cast<double>(spec.scale),
                                           " (a positive number, or 0 for 1/sqrt(head_dim))"));
  }
  return {};
}

template <class Enum>
Status check_enumerator(std::string_view what, Enum value, Enum last) {
  if (value <= last) return {};
  return Status::invalid_argument(
      concat("attention ", what, " number ", static_cast<int>(value), " (unknown)"));
}

Status check_enumerators(const AttentionSpec& spec) {
  RINGCOMM_TRY(check_enumerator("mask", spec.mask, Mask::causal));
  RINGCOMM_TRY(check_enumerator("layout", spec.layout, Layout::zigzag));
  RINGCOMM_TRY(check_enumerator("strategy", spec.strategy, AttentionStrategy::all_gather));
  RINGCOMM_TRY(check_enumerator("query placement", spec.queries, QueryPlacement::replicated));
  return check_enumerator("overlap", spec.overlap, plan::Overlap::on);
}

Status check_strategy(const AttentionSpec& spec) {
  if (spec.queries == QueryPlacement::replicated && spec.strategy != AttentionStrategy::automatic) {
    return Status::not_available(concat("strategy ", attention::name_of(spec.strategy),
                                        " with replicated queries (nothing rotates then; use automatic)"));
  }
  if (spec.strategy == AttentionStrategy::ring_relay) return {};
  if (spec.chunk_bytes != 0) {
    return Status::not_available(concat("chunk_bytes ", spec.chunk_bytes, " with strategy ",
                                        attention::name_of(spec.strategy),
                                        " (only ring_relay cuts its messages)"));
  }
  if (spec.overlap != plan::Overlap::on) {
    return Status::not_available(concat("overlap off with strategy ", attention::name_of(spec.strategy),
                                        " (only ring_relay copies between steps)"));
  }
  return {};
}

}  // namespace

Status RingAttention::supports(const AttentionSpec& spec, int ranks) {
  RINGCOMM_TRY(ShardMap::create(Layout::contiguous, 0, ranks).status());
  RINGCOMM_TRY(check_enumerators(spec));
  RINGCOMM_TRY(check_shape(spec));
  RINGCOMM_TRY(check_strategy(spec));
  if (spec.workers < 1 || spec.workers > kWorkersMax) {
    return Status::invalid_argument(
        concat("attention with ", spec.workers, " workers (1 to ", kWorkersMax, " are possible)"));
  }
  if (spec.deadline.count() < 0) {
    return Status::invalid_argument(
        concat("attention deadline of ", spec.deadline.count(), " ms (0 means the communicator's)"));
  }
  return {};
}

}  // namespace ringcomm::inline v0
