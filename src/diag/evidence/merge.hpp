// SPDX-License-Identifier: Apache-2.0
// Evidence of many files as one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

/// What one file gave: its only file has index 0.
struct FileEvidence {
  HangEvidence evidence{};
  std::pair<std::size_t, std::uint64_t> content{};  ///< size and hash
};

/// Appends files in their order. A copy of a file (same content, same numbers in its path, same ranks) gives
/// no facts a second time.
class Merger {
 public:
  void add(FileEvidence&& part);
  /// Numbers the snapshots of what was asked more than once, and says how large the job is where no file
  /// does.
  HangEvidence finish();

 private:
  using Copy = std::pair<std::pair<std::size_t, std::uint64_t>, std::pair<std::string, std::vector<int>>>;
  HangEvidence all_;
  std::map<Copy, std::string> seen_;
};

}  // namespace ringcomm::inline v0::diag
