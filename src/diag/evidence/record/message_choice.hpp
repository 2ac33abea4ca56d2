// SPDX-License-Identifier: Apache-2.0
// Which of a channel's messages are worth a fact.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ringcomm/diag/record_format.hpp"

namespace ringcomm::inline v0::diag {

/// Sees the entries of one channel, oldest first.
class MessageChoice {
 public:
  /// `latest`: the sequence of the operation entered last.
  explicit MessageChoice(std::uint32_t latest) : latest_(latest) {}
  void see(const RecordEntry& entry);
  /// Numbers of the entries chosen, ascending.
  std::vector<std::uint64_t> numbers() const;

 private:
  struct Reading {
    std::uint64_t number;
    std::uint32_t count;
    std::uint64_t released;  ///< ticks; UINT64_MAX: not yet
  };
  void watch_slot(const RecordEntry& entry);

  std::uint32_t latest_;
  std::vector<std::uint64_t> open_, over_;  ///< rings of the latest
  std::size_t opens_ = 0, overs_ = 0;
  std::map<std::uint32_t, std::vector<Reading>> readings_;  ///< by slot number
  std::set<std::uint64_t> rewritten_;
};

}  // namespace ringcomm::inline v0::diag
