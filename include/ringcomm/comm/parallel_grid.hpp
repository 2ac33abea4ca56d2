// SPDX-License-Identifier: Apache-2.0
// Which ranks form the TP, SP, CP, PP and DP groups of a training job, as Megatron-LM numbers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/comm/communicator.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class ParallelKind : std::uint8_t {
  tp,     ///< tensor parallel
  sp,     ///< sequence parallel: the ranks of TP
  cp,     ///< context parallel: the ring of attention
  pp,     ///< pipeline parallel
  dp,     ///< data parallel
  dp_cp,  ///< DP and CP together: who holds the same weights
};
inline constexpr ParallelKind kParallelKinds[] = {ParallelKind::tp, ParallelKind::sp, ParallelKind::cp,
                                                  ParallelKind::pp, ParallelKind::dp, ParallelKind::dp_cp};
/// "TP", "SP", "CP", "PP", "DP", "DP-CP".
std::string_view name_of(ParallelKind kind);

struct ParallelSizes {
  int tp = 1;
  int cp = 1;
  int pp = 1;
  int dp = 0;  ///< 0: what the others leave of the world
  friend bool operator==(const ParallelSizes&, const ParallelSizes&) = default;
};

/// A value without sockets: every rank makes the same one from the same numbers.
class ParallelGrid {
 public:
  /// Megatron-LM's: TP inside a host first. Its EP stands for 1 here.
  static constexpr std::string_view kDefaultOrder = "tp-cp-ep-dp-pp";

  /// Ranks count through the words of `order`, the first one fastest. Errors: invalid_argument with the
  /// numbers for sizes whose product is not `world`, an unknown or repeated word, a size above 1 whose word
  /// is missing.
  static Result<ParallelGrid> create(const ParallelSizes& sizes, int world,
                                     std::string_view order = kDefaultOrder);

  int world() const { return world_; }
  int size(ParallelKind kind) const;
  /// The words that were given, without "ep".
  const std::string& order() const { return order_; }
  const ParallelSizes& sizes() const { return sizes_; }
  /// All groups of a kind in order of creation, members in the order of `order`. Every rank is in exactly
  /// one.
  const std::vector<std::vector<int>>& groups(ParallelKind kind) const;
  /// Which of groups(kind) `rank` is in (0 <= rank < world()), and its place there.
  int group_of(ParallelKind kind, int rank) const;
  int place_in_group(ParallelKind kind, int rank) const;

  /// Opens this rank's channel of `kind`: collective over its group. Kinds are opened in the same order on
  /// all ranks; each once per communicator. Errors: invalid_argument when `comm` has not world() ranks, else
  /// as open_channel.
  Result<Channel*> open(Communicator& comm, ParallelKind kind, const ChannelOptions& options = {}) const;
  /// As above with a communicator of its own, by split: collective over all ranks. For a group that needs
  /// another transport, arena or deadline of creation.
  Result<Communicator> open_communicator(Communicator& comm, ParallelKind kind,
                                         const CommunicatorOptions& options = {}) const;

  /// Sizes, then one line per group.
  std::string to_text() const;
  friend bool operator==(const ParallelGrid&, const ParallelGrid&) = default;

 private:
  ParallelGrid() = default;
  /// Every rank in one group of each kind, TP and CP groups of a rank meet in it alone.
  Status check() const;

  struct Table {
    std::vector<std::vector<int>> groups;
    std::vector<int> group_of;  ///< [world]
    std::vector<int> place;     ///< [world]
    friend bool operator==(const Table&, const Table&) = default;
  };
  const Table& table(ParallelKind kind) const { return tables_[static_cast<std::size_t>(kind)]; }

  int world_ = 1;
  ParallelSizes sizes_;
  std::string order_;
  std::vector<Table> tables_;
};

/// A group whose ranks are on more than one host.
struct CrossingGroup {
  ParallelKind kind = ParallelKind::tp;
  int group = 0;
  std::vector<int> ranks;
  std::vector<int> hosts;  ///< ascending
};

struct PlacementReport {
  std::vector<CrossingGroup> crossings;  ///< of all kinds but SP (TP's ranks)
  /// Which order or numbering would keep TP, and then CP, inside hosts; "none needed" when they are; "none: "
  /// and why when nothing would.
  std::string suggestion;
  /// One line per crossing group, then the suggestion.
  std::string to_text() const;
};

/// @param host_of_rank  [grid.world()], any numbers.
Result<PlacementReport> check_placement(const ParallelGrid& grid, std::span<const int> host_of_rank);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
