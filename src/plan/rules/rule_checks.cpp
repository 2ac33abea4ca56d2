// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/rule_checks.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {

Status check_ranks(std::string_view what, int ranks, int rank) {
  if (ranks < 1)
    return Status::invalid_argument(concat(what, " over ", ranks, " ranks (at least 1 is needed)"));
  if (rank < 0 || rank >= ranks) {
    return Status::invalid_argument(
        concat(what, ": rank ", rank, " is outside 0 to ", ranks - 1, " (", ranks, " ranks)"));
  }
  return {};
}

Result<std::uint64_t> check_blocks(std::string_view what, int ranks,
                                   const std::vector<std::uint64_t>& bytes) {
  if (bytes.size() != static_cast<std::size_t>(ranks)) {
    return Status::invalid_argument(
        concat(what, ": block_bytes has ", bytes.size(), " entries for ", ranks, " ranks (one per rank)"));
  }
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    if (bytes[rank] > kBytesMax) {
      return Status::invalid_argument(concat(what, ": the block of rank ", rank, " has ", bytes[rank],
                                             " bytes (above 2^63 - 1). Is the size negative?"));
    }
    sum += bytes[rank];
    if (sum > kBytesMax) {
      return Status::invalid_argument(
          concat(what, ": the blocks of ranks 0 to ", rank, " have more than 2^63 - 1 bytes together"));
    }
  }
  return sum;
}

}  // namespace ringcomm::inline v0::plan
