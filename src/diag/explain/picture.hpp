// SPDX-License-Identifier: Apache-2.0
// The facts joined: who is who, which groups there are, and how far each rank got in each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"
#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::inline v0::diag {

/// One rank, or one process of which no rank is known.
struct RankPicture {
  Who who;            ///< everything that any line said of it
  std::string label;  ///< what a verdict calls it: "3", else the name, else "process 6004 on 10.0.1.13"
  bool has_evidence = false;      ///< a file or line of its own, not only one of others about it
  bool has_dump = false;          ///< a whole record or dump was read: what is not in it did not happen
  bool is_rank_from_gpu = false;  ///< no line tells the rank; one host, and its GPU numbers stand in
  std::vector<const EventFact*> events;
  std::vector<const StackFact*> stacks;
  std::vector<const GpuSample*> gpus;
};

struct MemberPicture {
  int rank = kUnknown;  ///< index into JobPicture::ranks; kUnknown: a member of which nothing is known
  std::optional<std::int64_t> enqueued, started, completed;
  std::vector<const OpFact*> open;     ///< not completed, oldest first
  std::vector<const OpFact*> history;  ///< completed, or called and no more known; oldest first
  std::vector<const StepFact*> steps;
  bool has_view = false;  ///< its own evidence speaks of this group
};

struct GroupPicture {
  std::string name, description, unique_id;
  std::vector<MemberPicture> members;  ///< by group rank
  bool is_complete = false;            ///< all members are known by rank
  int size = kUnknown;
  std::vector<const GroupFact*> views;
  std::string label;        ///< what a verdict calls it: "74:EXPERT...", "0:default_pg", "PG 1"
  bool is_unnamed = false;  ///< its operations come from lines that name no group
  bool spans_job = false;   ///< all ranks of the job are its members
  bool has_p2p = false;     ///< sends and receives: counts of its members cannot be compared
  /// Index into members, or kUnknown.
  int member_of(int rank) const;
  std::unordered_map<int, int> member_index;  ///< index of a rank -> index of a member
};

struct JobPicture {
  std::vector<RankPicture> ranks;  ///< sorted by rank, those without one last
  std::vector<GroupPicture> groups;
  std::optional<int> world_size;
  /// Index into ranks, or kUnknown. Joins rank, host+pid, bus id, address, name; `group` resolves group
  /// ranks.
  int find(const Who& who, std::string_view group = {}) const;
  /// Index into groups of the group that a fact of `who` in this file calls `key`, or kUnknown.
  int group_of(const Who& who, const Source& source, std::string_view key) const;

  std::unordered_map<int, int> index_of_rank;         ///< global rank -> index into ranks
  std::unordered_map<std::string, int> index_of_key;  ///< "pid/nodea/3188" -> index; -1: of several
  std::unordered_map<std::string, int> group_index;   ///< see group_of
  std::unordered_map<std::string, int> group_of_any;  ///< key alone -> group; -1: several
};
JobPicture picture_of(const HangEvidence& evidence);

/// How much a candidate explains; the heaviest wins, and of equals the one whose evidence is earliest.
enum class Weight : std::uint8_t {
  background,  ///< remarks: an odd topology, nothing runs
  weak,        ///< "all entered, no progress", "insufficient"
  ordinary,    ///< one source names it
  strong,      ///< the wait-for graph or two sources agree
  root,        ///< an earlier failure that explains the others (died, raised, limit, version, Xid)
};
struct Candidate {
  Verdict verdict;
  Weight weight = Weight::ordinary;
  std::string_view rule;                ///< "completed_lag"
  std::optional<std::int64_t> time_ns;  ///< of its first line
};
using Rule = void (*)(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);

/// explain/groups/: states, completed lag, signatures, steps, wait-for graph.
std::span<const Rule> group_rules();
/// explain/events/: processes, start-up, network, device, limits, stacks, topology.
std::span<const Rule> event_rules();

/// What to print for a kind where the rule gave nothing more exact. At least 20 characters, differs between
/// kinds.
std::string fix_of(FaultKind kind);
/// Commands that would settle a case of this kind, best first.
std::vector<std::string> collect_for(FaultKind kind);

}  // namespace ringcomm::inline v0::diag
