// SPDX-License-Identifier: Apache-2.0
// What every rule must satisfy before a slice is derived from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::plan {

/// Sizes come from signed shapes; anything larger is a negative number in disguise.
inline constexpr std::uint64_t kBytesMax = 0x7fff'ffff'ffff'ffffU;
/// More chunks than this in one block is a typing error (bytes taken for kilobytes), not a pipeline.
inline constexpr std::uint64_t kChunksMax = 65'536;

/// `what` opens the message: "ring rotation".
Status check_ranks(std::string_view what, int ranks, int rank);
/// One size per rank, each at most kBytesMax; the sum too.
Result<std::uint64_t> check_blocks(std::string_view what, int ranks, const std::vector<std::uint64_t>& bytes);

}  // namespace ringcomm::inline v0::plan
