// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank holds, item by item.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "time.hpp"

namespace ringcomm::planner {

struct MemoryItem {
  std::string_view id;            ///< stable: "weights", "kv", ...
  std::string_view what;          ///< a few words for the reader
  std::optional<double> bytes{};  ///< absent: unknown
};
struct Memory {
  std::vector<MemoryItem> items{};
  double known_bytes = 0;
  bool is_complete = true;  ///< no item is unknown
};
/// Of the rank with the largest shard, in the pipeline stage that has most.
Memory memory_per_rank(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                       const CpPlace& place);

/// Extra KV of the strategy (slots of the ring, the gathered sequence, ...), one layer at a time.
double slot_bytes(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                  const CpPlace& place);
/// Tokens of the largest shard: what "per rank" means wherever a length does not divide.
std::int64_t rows_max(const ModelShape& shape, const Work& work, int cp);

}  // namespace ringcomm::planner
