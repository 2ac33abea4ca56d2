// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/waits.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "diag/explain/groups/p2p.hpp"
#include "diag/explain/groups/steps.hpp"
#include "diag/explain/groups/texts.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kSetsPerGroup = 256;  // different stuck calls of one group that are looked at

class Builder {
 public:
  explicit Builder(const JobPicture& picture) : picture_(picture), pairs_(picture), steps_(picture) {
    graph_.ranks.resize(picture.ranks.size());
  }

  WaitGraph build() {
    for (std::size_t g = 0; g < picture_.groups.size(); ++g) collect_heads(static_cast<int>(g));
    for (RankWait& rank : graph_.ranks) drop_counted(rank.heads);
    graph_.is_timed = std::all_of(graph_.ranks.begin(), graph_.ranks.end(), [](const RankWait& rank) {
      return std::all_of(rank.heads.begin(), rank.heads.end(), [](const Head& head) {
        return head.op == nullptr || head.op->created_ns.has_value();
      });
    });
    for (RankWait& rank : graph_.ranks) order(rank.heads);
    for (std::size_t g = 0; g < picture_.groups.size(); ++g) find_lag(static_cast<int>(g));
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) mark_lag(graph_.ranks[r]);
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) connect(static_cast<int>(r));
    return std::move(graph_);
  }

 private:
  const GroupPicture& group_at(int group) const { return picture_.groups[static_cast<std::size_t>(group)]; }

  void collect_heads(int group) {
    const GroupPicture& in = group_at(group);
    for (const MemberPicture& member : in.members) {
      ++graph_.work;
      if (member.rank == kUnknown) continue;
      Head head;
      head.group = group;
      if (!member.open.empty()) {
        head.op = member.open.front();
        head.seq = head.op->seq;
        for (const OpFact* op : member.open) {
          if (op == head.op || (head.op->coalesced != kUnknown && op->coalesced == head.op->coalesced)) {
            if (op->op != OpClass::coalesced) head.parts.push_back(op);
          }
        }
      } else if (!in.has_p2p && member.completed && member.enqueued && *member.completed < *member.enqueued) {
        head.seq = *member.completed + 1;
      } else {
        continue;
      }
      graph_.ranks[static_cast<std::size_t>(member.rank)].heads.push_back(std::move(head));
    }
  }

  /// Counts alone tell of an open call only where a rank shows no open call at all: a group of messages whose
  /// entries were lost has counts that look alike.
  static void drop_counted(std::vector<Head>& heads) {
    const bool has_calls =
        std::any_of(heads.begin(), heads.end(), [](const Head& head) { return head.op != nullptr; });
    if (has_calls) std::erase_if(heads, [](const Head& head) { return head.op == nullptr; });
  }

  void order(std::vector<Head>& heads) const {
    if (!graph_.is_timed || heads.empty() || heads.front().op == nullptr) return;
    std::stable_sort(heads.begin(), heads.end(),
                     [](const Head& a, const Head& b) { return *a.op->created_ns < *b.op->created_ns; });
  }

  /// How far the furthest members of a group have completed; two, so that nobody is compared with itself.
  void find_lag(int group) {
    const GroupPicture& in = group_at(group);
    std::optional<std::int64_t> furthest;
    for (const MemberPicture& member : in.members) {
      if (member.completed && (!furthest || *furthest < *member.completed)) furthest = member.completed;
      ++graph_.work;
    }
    furthest_.push_back(in.has_p2p || in.is_unnamed ? std::nullopt : furthest);
  }

  void mark_lag(RankWait& rank) const {
    bool is_first = true;
    std::size_t lagging = 0, compared = 0;
    for (const Head& head : rank.heads) {
      const auto& furthest = furthest_[static_cast<std::size_t>(head.group)];
      // Members of a ringcomm operation end one by one: a peer that has left proves nothing.
      const bool is_step_wise =
          steps_.has_steps(head.group) || (head.op != nullptr && head.op->signature != 0);
      if (!furthest || !head.seq || is_step_wise ||
          (head.op != nullptr && (is_rooted(head.op->op) || is_p2p(*head.op))))
        continue;
      if (group_at(head.group).members.size() < 2) continue;
      ++compared;
      if (*furthest >= *head.seq) {
        ++lagging;
        rank.lag = std::max(rank.lag, *furthest - *head.seq + 1);
        if (is_first) rank.is_lagging = true;
      }
      is_first = false;
    }
    rank.is_lagging_everywhere = compared > 0 && lagging == compared;
    rank.is_lagging = rank.is_lagging || rank.is_lagging_everywhere;
  }

  bool is_head(const Head& head, int rank) const {
    const auto& heads = graph_.ranks[static_cast<std::size_t>(rank)].heads;
    return !heads.empty() && heads.front().group == head.group && heads.front().seq == head.seq;
  }

  /// The state of a member that the call `head` needs; nothing: it is in, or was.
  std::optional<TargetState> state_of(const Head& head, const MemberPicture& member) const {
    if (member.rank == kUnknown) return TargetState::unknown;
    const RankPicture& rank = picture_.ranks[static_cast<std::size_t>(member.rank)];
    const GroupPicture& in = group_at(head.group);
    if (!member.has_view && !rank.has_dump) return TargetState::unknown;
    if (!head.seq) {
      if (member.open.empty() && !rank.has_dump) return TargetState::unknown;
      return member.open.empty() ? std::optional(TargetState::missing) : std::nullopt;
    }
    // Counts of a group with sends and receives say nothing; its entries do.
    constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min();
    std::int64_t in_at = in.has_p2p ? kNowhere : member.enqueued.value_or(kNowhere);
    if (in_at == kNowhere) {
      for (const auto* ops : {&member.history, &member.open}) {
        for (const OpFact* op : *ops) {
          if (!is_p2p(*op)) in_at = std::max(in_at, op->seq.value_or(kNowhere));
        }
      }
    }
    if (in_at == kNowhere)
      return rank.has_dump && member.open.empty() && !in.has_p2p ? TargetState::missing
                                                                 : TargetState::unknown;
    if (in_at < *head.seq) return in.is_unnamed ? TargetState::unknown : TargetState::missing;
    if (!in.has_p2p && member.completed && *member.completed >= *head.seq) return std::nullopt;
    const auto& heads = graph_.ranks[static_cast<std::size_t>(member.rank)].heads;
    const auto same =
        std::find_if(heads.begin(), heads.end(), [&](const Head& one) { return one.group == head.group; });
    if (same == heads.end()) return std::nullopt;
    if (same->seq && *same->seq < *head.seq) return TargetState::behind;
    if (graph_.is_timed && !is_head(head, member.rank)) return TargetState::behind;
    return std::nullopt;
  }

  int set_of(const Head& head) {
    const auto key = std::pair(head.group, head.seq.value_or(kUnknown));
    const auto known = by_call_.find(key);
    if (known != by_call_.end()) return known->second;
    std::size_t& count = sets_of_group_[head.group];
    if (++count > kSetsPerGroup) return kUnknown;
    WaitSet set;
    set.group = head.group;
    set.seq = head.seq;
    set.op = head.op;
    for (const MemberPicture& member : group_at(head.group).members) {
      ++graph_.work;
      const auto state = state_of(head, member);
      if (state) set.targets.push_back({member.rank, *state});
    }
    const int index = set.targets.empty() ? kUnknown : static_cast<int>(graph_.sets.size());
    if (index != kUnknown) graph_.sets.push_back(std::move(set));
    by_call_.emplace(key, index);
    return index;
  }

  int p2p_set_of(int rank, const Head& head) {
    WaitSet set;
    set.group = head.group;
    set.seq = head.op->p2p_seq;
    set.op = head.op;
    set.is_p2p = true;
    for (const OpFact* part : head.parts) {
      ++graph_.work;
      const auto target = pairs_.target(head.group, rank, *part, graph_.ranks);
      if (target) set.targets.push_back(*target);
    }
    if (set.targets.empty()) return kUnknown;
    graph_.sets.push_back(std::move(set));
    return static_cast<int>(graph_.sets.size()) - 1;
  }

  /// Inside an operation that all have entered: by the block that does not come.
  int step_set_of(int rank, const Head& head) {
    if (!head.seq || !steps_.has_steps(head.group)) return kUnknown;
    const auto target = steps_.target(head.group, rank, *head.seq, graph_.ranks);
    if (!target) return kUnknown;
    WaitSet set;
    set.group = head.group;
    set.seq = head.seq;
    set.op = head.op;
    set.is_step = true;
    set.targets.push_back(*target);
    graph_.sets.push_back(std::move(set));
    return static_cast<int>(graph_.sets.size()) - 1;
  }

  bool has_definite(int set, bool is_later_head) const {
    if (set == kUnknown) return false;
    const auto& targets = graph_.sets[static_cast<std::size_t>(set)].targets;
    return std::any_of(targets.begin(), targets.end(), [is_later_head](const WaitTarget& target) {
      return target.state == TargetState::missing || (!is_later_head && target.state == TargetState::behind);
    });
  }

  /// A rank waits by its oldest open call; by a later one only if that misses somebody for certain.
  void connect(int rank) {
    RankWait& wait = graph_.ranks[static_cast<std::size_t>(rank)];
    if (wait.is_lagging) return;  // its own device holds it
    int doubtful = kUnknown;
    for (std::size_t i = 0; i < wait.heads.size(); ++i) {
      const Head& head = wait.heads[i];
      const bool is_p2p_call = head.op != nullptr && is_p2p(*head.op);
      int set = kUnknown;
      if (steps_.has_steps(head.group)) set = i == 0 ? step_set_of(rank, head) : kUnknown;
      // A record knows the peer that it waits for; without it, all members that have not come.
      const bool is_told =
          head.seq && steps_.has_steps(head.group) && steps_.is_inside(head.group, rank, *head.seq);
      if (set == kUnknown && !is_told) set = is_p2p_call ? p2p_set_of(rank, head) : set_of(head);
      if (has_definite(set, i > 0)) {
        wait.set = set;
        break;
      }
      if (doubtful == kUnknown) doubtful = set;
    }
    if (wait.set == kUnknown) wait.set = doubtful;
    if (wait.set != kUnknown) graph_.sets[static_cast<std::size_t>(wait.set)].waiters.push_back(rank);
  }

  const JobPicture& picture_;
  PairIndex pairs_;
  StepIndex steps_;
  WaitGraph graph_;
  std::vector<std::optional<std::int64_t>> furthest_;
  std::map<std::pair<int, std::int64_t>, int> by_call_;
  std::map<int, std::size_t> sets_of_group_;
};

}  // namespace

WaitGraph wait_graph_of(const JobPicture& picture) { return Builder(picture).build(); }

std::vector<int> WaitGraph::sinks() const {
  std::vector<int> found;
  for (const WaitSet& set : sets) {
    if (set.waiters.empty()) continue;
    for (const WaitTarget& target : set.targets) {
      if (target.rank != kUnknown && ranks[static_cast<std::size_t>(target.rank)].set == kUnknown)
        found.push_back(target.rank);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<int> WaitGraph::waiting_for(const std::vector<int>& goals) const {
  // Backwards from the goals: rank -> sets that have it as a target -> their waiters.
  std::vector<std::vector<int>> sets_with(ranks.size());
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const WaitTarget& target : sets[s].targets) {
      if (target.rank != kUnknown)
        sets_with[static_cast<std::size_t>(target.rank)].push_back(static_cast<int>(s));
    }
  }
  std::vector<char> is_seen(ranks.size(), 0), is_set_seen(sets.size(), 0);
  std::vector<int> todo(goals), found;
  for (const int goal : goals) is_seen[static_cast<std::size_t>(goal)] = 1;
  while (!todo.empty()) {
    const int rank = todo.back();
    todo.pop_back();
    for (const int s : sets_with[static_cast<std::size_t>(rank)]) {
      if (std::exchange(is_set_seen[static_cast<std::size_t>(s)], 1) != 0) continue;
      for (const int waiter : sets[static_cast<std::size_t>(s)].waiters) {
        if (std::exchange(is_seen[static_cast<std::size_t>(waiter)], 1) != 0) continue;
        found.push_back(waiter);
        todo.push_back(waiter);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ringcomm::inline v0::diag
