// SPDX-License-Identifier: Apache-2.0
#include "attention/spec_check.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::attention {
namespace {

constexpr std::int64_t kNoLevel = -1;

std::string text_of(SpecField field, std::int64_t value) {
  switch (field) {
    case SpecField::dtype:
      return std::string(name_of(static_cast<DType>(value)));
    case SpecField::mask:
      return value == static_cast<int>(Mask::causal) ? "causal" : "full";
    case SpecField::layout:
      return value == static_cast<int>(Layout::zigzag) ? "zigzag" : "contiguous";
    case SpecField::strategy:
      return std::string(name_of(static_cast<AttentionStrategy>(value)));
    case SpecField::queries:
      return value == static_cast<int>(QueryPlacement::sharded) ? "sharded" : "replicated";
    case SpecField::scale:
      return concat(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
    case SpecField::overlap:
      return value == static_cast<int>(plan::Overlap::on) ? "on" : "off";
    default:
      return std::to_string(value);
  }
}

std::string_view name_of(SpecField field) {
  constexpr std::array<std::string_view, kSpecFields> kNames{"tokens",  "q_heads", "kv_heads", "head_dim",
                                                             "dtype",   "mask",    "layout",   "strategy",
                                                             "queries", "scale",   "overlap",  "chunk_bytes"};
  return kNames[static_cast<std::size_t>(field)];
}

/// All ranks' `mine`, through a block of the arena, so that nothing is counted as copied. The communicator's
/// deadline counts: the spec's is for a forward, and tensors may take longer to allocate than that.
Result<std::vector<std::int64_t>> gather_values(Channel& channel, std::span<const std::int64_t> mine) {
  RINGCOMM_TRY_ASSIGN(const ArenaBlock block, channel.allocate(mine.size_bytes()));
  std::memcpy(block.data(), mine.data(), mine.size_bytes());
  const auto count = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(channel.size()));
  RINGCOMM_TRY_ASSIGN(
      const Work work,
      all_gather(channel, TensorView::contiguous(block.data(), DType::int64, {count}),
                 TensorView::contiguous(all.data(), DType::int64, {count * channel.size()}), {}, {}));
  RINGCOMM_TRY(work.status());
  return all;
}

Status compare_with_rank_zero(const std::vector<std::int64_t>& all, std::size_t stride, int ranks) {
  for (std::size_t field = 0; field < kSpecFields; ++field) {
    for (int rank = 1; rank < ranks; ++rank) {
      const std::int64_t theirs = all[static_cast<std::size_t>(rank) * stride + field];
      if (theirs == all[field]) continue;
      const auto which = static_cast<SpecField>(field);
      return Status::mismatch(concat("ring attention: ", name_of(which), " is ", text_of(which, all[field]),
                                     " on rank 0 and ", text_of(which, theirs), " on rank ", rank,
                                     " (all ranks must pass the same AttentionSpec)"));
    }
  }
  return {};
}

}  // namespace

SpecValues values_of(const AttentionSpec& spec) {
  return {spec.tokens,
          spec.q_heads,
          spec.kv_heads,
          spec.head_dim,
          static_cast<std::int64_t>(spec.dtype),
          static_cast<std::int64_t>(spec.mask),
          static_cast<std::int64_t>(spec.layout),
          static_cast<std::int64_t>(spec.strategy),
          static_cast<std::int64_t>(spec.queries),
          std::bit_cast<std::uint32_t>(spec.scale),
          static_cast<std::int64_t>(spec.overlap),
          static_cast<std::int64_t>(spec.chunk_bytes)};
}

std::uint64_t hash(const SpecValues& values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::int64_t value : values) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((static_cast<std::uint64_t>(value) >> shift) & 0xffU)) * 0x100000001b3U;
    }
  }
  return hash;
}

Result<CpuLevel> agree_on_spec(Channel& channel, const AttentionSpec& spec) {
  const Result<CpuLevel> own_level = chosen_cpu_level();
  const SpecValues values = values_of(spec);
  std::vector<std::int64_t> mine(values.begin(), values.end());
  mine.push_back(own_level.is_ok() ? static_cast<std::int64_t>(own_level.value()) : kNoLevel);
  RINGCOMM_TRY_ASSIGN(const auto all, gather_values(channel, mine));
  RINGCOMM_TRY(compare_with_rank_zero(all, mine.size(), channel.size()));
  if (channel.rank() == 0) return own_level;
  const std::int64_t level = all[kSpecFields];
  if (level == kNoLevel) {
    return Status::not_available("rank 0 could not choose its instruction level (RINGCOMM_DISPATCH there)");
  }
  if (level > static_cast<std::int64_t>(best_cpu_level())) {
    return Status::not_available(concat("rank 0 chose dispatch level ",
                                        ringcomm::name_of(static_cast<CpuLevel>(level)), ", which rank ",
                                        channel.rank(), " cannot run. Set RINGCOMM_DISPATCH=scalar?"));
  }
  return static_cast<CpuLevel>(level);
}

Status agree_on_success(Channel& channel, const Status& mine) {
  const std::array<std::int64_t, 1> code{static_cast<std::int64_t>(mine.code())};
  RINGCOMM_TRY_ASSIGN(const auto all, gather_values(channel, code));
  if (!mine.is_ok()) return mine;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == 0) continue;
    return Status::aborted(concat("ring attention was not created, because rank ", rank,
                                  " failed: ", ringcomm::name_of(static_cast<StatusCode>(all[rank])),
                                  " (its own message says why)"));
  }
  return {};
}

}  // namespace ringcomm::inline v0::attention
