// SPDX-License-Identifier: Apache-2.0
// Do all ranks mean the same attention? Compared field by field at creation, because a hash cannot be read.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ringcomm/attention/ring_attention.hpp"

namespace ringcomm::inline v0::attention {

enum class SpecField : std::uint8_t {
  tokens,
  q_heads,
  kv_heads,
  head_dim,
  dtype,
  mask,
  layout,
  strategy,
  queries,
  scale,
  overlap,
  chunk_bytes,
  count
};
inline constexpr std::size_t kSpecFields = static_cast<std::size_t>(SpecField::count);
using SpecValues = std::array<std::int64_t, kSpecFields>;

std::string_view name_of(AttentionStrategy strategy);

/// In the order of SpecField; what may differ between ranks (workers, deadline) is not among them.
SpecValues values_of(const AttentionSpec& spec);
/// FNV-1a; never unequal on ranks that agree.
std::uint64_t hash(const SpecValues& values);

/// Collective: mismatch, the same sentence on every rank, naming the first field that differs and both
/// values. Returns the dispatch level that rank 0 chose, which all ranks use.
Result<CpuLevel> agree_on_spec(Channel& channel, const AttentionSpec& spec);

/// Collective: ok if `mine` is ok on all ranks; else this rank's failure, or aborted naming the first rank
/// that failed. Without it one rank's full memory would leave the others waiting.
Status agree_on_success(Channel& channel, const Status& mine);

}  // namespace ringcomm::inline v0::attention
