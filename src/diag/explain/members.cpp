// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/group_join.hpp"
#include "diag/explain/identity.hpp"

namespace ringcomm::inline v0::diag {
namespace {

bool is_p2p_call(const OpFact& op) {
  return op.op == OpClass::send || op.op == OpClass::recv ||
         (op.op == OpClass::coalesced && op.p2p_seq.value_or(0) > 0);
}

void raise(std::optional<std::int64_t>& value, const std::optional<std::int64_t>& to) {
  if (to && (!value || *value < *to)) value = to;
}

class Members {
 public:
  Members(const HangEvidence& evidence, JobPicture& picture) : evidence_(evidence), picture_(picture) {}

  void run() {
    for (GroupPicture& group : picture_.groups) seed(group);
    for (const CounterFact& fact : evidence_.counters) place_counter(fact);
    for (const OpFact& op : evidence_.ops) {
      MemberPicture* member = member_of_op(op);
      if (member == nullptr) continue;
      const bool is_open = op.completed == Tri::no || (op.is_timed_out && op.completed != Tri::yes);
      (is_open ? member->open : member->history).push_back(&op);
    }
    for (const StepFact& step : evidence_.steps) {
      MemberPicture* member = member_of(step.who, step.source, step.group);
      if (member != nullptr) member->steps.push_back(&step);
    }
    for (GroupPicture& group : picture_.groups) finish(group);
  }

 private:
  int add_member(GroupPicture& group, int rank) {
    const auto [at, is_new] = group.member_index.try_emplace(rank, static_cast<int>(group.members.size()));
    if (is_new) group.members.emplace_back().rank = rank;
    return at->second;
  }

  void seed(GroupPicture& group) {
    const std::vector<int>& list = list_of(group);
    if (!list.empty()) {
      for (const int rank : list) {
        const auto at = picture_.index_of_rank.find(rank);
        if (at == picture_.index_of_rank.end()) {
          group.members.emplace_back();  // keeps the place of the others
        } else {
          add_member(group, at->second);
        }
      }
    } else if (group.spans_job) {
      for (std::size_t i = 0; i < picture_.ranks.size(); ++i) {
        if (picture_.ranks[i].who.rank != kUnknown) add_member(group, static_cast<int>(i));
      }
    }
    for (const GroupFact* view : group.views) {
      const int rank = picture_.find(view->who, view->key);
      if (rank == kUnknown) continue;
      if (list.empty()) add_member(group, rank);
      const int at = group.member_of(rank);
      if (at != kUnknown) group.members[static_cast<std::size_t>(at)].has_view = true;
    }
  }

  /// Most facts follow one of the same rank and group.
  std::pair<int, int> place(const Who& who, const Source& source, const std::string& key) {
    if (who.rank != kUnknown && who.rank == last_rank_ && source.file == last_file_ && key == last_key_)
      return last_place_;
    const int group = picture_.group_of(who, source, key);
    Who resolved = who;
    int rank = picture_.find(who, key);
    if (rank == kUnknown && group != kUnknown && who.group_rank >= 0) {
      const std::vector<int>& list = list_of(picture_.groups[static_cast<std::size_t>(group)]);
      if (static_cast<std::size_t>(who.group_rank) < list.size())
        resolved.rank = list[static_cast<std::size_t>(who.group_rank)];
      rank = picture_.find(resolved, key);
    }
    last_rank_ = who.rank;
    last_file_ = source.file;
    last_key_ = key;
    last_place_ = {group, rank};
    return last_place_;
  }

  MemberPicture* member_of(const Who& who, const Source& source, const std::string& key) {
    const auto [group, rank] = place(who, source, key);
    return group == kUnknown || rank == kUnknown ? nullptr : &member_at(group, rank);
  }

  MemberPicture& member_at(int group, int rank) {
    GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
    MemberPicture& member = in.members[static_cast<std::size_t>(add_member(in, rank))];
    member.has_view = true;
    return member;
  }

  void place_counter(const CounterFact& fact) {
    MemberPicture* member = member_of(fact.who, fact.source, fact.group);
    if (member == nullptr) return;
    const auto [group, rank] = place(fact.who, fact.source, fact.group);
    if (fact.enqueued || fact.completed) counted_[rank].insert(group);
    raise(member->enqueued, fact.enqueued);
    raise(member->started, fact.started);
    raise(member->completed, fact.completed);
  }

  /// Lines that name no group: the group of that rank in which this number is the stuck one.
  int group_by_number(int rank, const OpFact& op) {
    const auto counted = counted_.find(rank);
    int found = kUnknown;
    if (counted != counted_.end() && op.seq) {
      for (const int group : counted->second) {
        const GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
        const MemberPicture& member = in.members[static_cast<std::size_t>(in.member_of(rank))];
        const bool fits =
            member.completed.value_or(*op.seq - 1) < *op.seq && member.enqueued.value_or(*op.seq) >= *op.seq;
        if (!fits) continue;
        if (found != kUnknown) return kUnknown;
        found = group;
      }
      if (found != kUnknown) return found;
    }
    return counted == counted_.end() ? only_group() : kUnknown;
  }

  /// The one group that any line names.
  int only_group() const {
    int found = kUnknown;
    for (std::size_t i = 0; i < picture_.groups.size(); ++i) {
      if (picture_.groups[i].is_unnamed) continue;
      if (found != kUnknown) return kUnknown;
      found = static_cast<int>(i);
    }
    return found;
  }

  MemberPicture* member_of_op(const OpFact& op) {
    auto [group, rank] = place(op.who, op.source, op.group);
    if (rank == kUnknown) return nullptr;
    if (group == kUnknown) group = group_by_number(rank, op);
    if (group == kUnknown) group = unnamed();
    return &member_at(group, rank);
  }

  int unnamed() {
    if (unnamed_ == kUnknown) {
      unnamed_ = static_cast<int>(picture_.groups.size());
      GroupPicture& group = picture_.groups.emplace_back();
      group.label = "not printed";
      group.is_unnamed = true;
      group.spans_job = true;
      seed(group);
    }
    return unnamed_;
  }

  static void finish(GroupPicture& group) {
    for (const MemberPicture& member : group.members) {
      const auto has = [](const std::vector<const OpFact*>& ops) {
        return std::any_of(ops.begin(), ops.end(), [](const OpFact* op) { return is_p2p_call(*op); });
      };
      group.has_p2p = group.has_p2p || has(member.open) || has(member.history);
    }
    for (MemberPicture& member : group.members) {
      sort(member.open);
      sort(member.history);
      std::sort(member.steps.begin(), member.steps.end(), [](const StepFact* a, const StepFact* b) {
        return std::pair(a->seq, a->posted_ns) < std::pair(b->seq, b->posted_ns);
      });
      if (group.has_p2p) continue;
      for (const OpFact* op : member.history) {
        raise(member.enqueued, op->seq);
        if (op->completed == Tri::yes) raise(member.completed, op->seq);
      }
      std::optional<std::int64_t> first;
      for (const OpFact* op : member.open) {
        raise(member.enqueued, op->seq);
        if (op->seq && (!first || *op->seq < *first)) first = op->seq;
      }
      if (first && !member.completed) member.completed = *first - 1;
    }
    group.is_complete = !group.members.empty() &&
                        (group.size == kUnknown || static_cast<int>(group.members.size()) >= group.size) &&
                        std::all_of(group.members.begin(), group.members.end(),
                                    [](const MemberPicture& member) { return member.rank != kUnknown; });
  }

  /// By time where all have one, else as read; facts of one file lie in its order.
  static void sort(std::vector<const OpFact*>& ops) {
    const bool is_timed =
        std::all_of(ops.begin(), ops.end(), [](const OpFact* op) { return op->created_ns.has_value(); });
    std::stable_sort(ops.begin(), ops.end(), [is_timed](const OpFact* a, const OpFact* b) {
      if (is_timed && *a->created_ns != *b->created_ns) return *a->created_ns < *b->created_ns;
      return std::pair(a->seq.value_or(0), a->p2p_seq.value_or(0)) <
             std::pair(b->seq.value_or(0), b->p2p_seq.value_or(0));
    });
  }

  const HangEvidence& evidence_;
  JobPicture& picture_;
  std::map<int, std::set<int>> counted_;  // rank -> groups with counters
  int unnamed_ = kUnknown;
  int last_rank_ = kUnknown, last_file_ = kUnknown;
  std::string last_key_;
  std::pair<int, int> last_place_{kUnknown, kUnknown};
};

}  // namespace

int GroupPicture::member_of(int rank) const {
  const auto at = member_index.find(rank);
  return at == member_index.end() ? kUnknown : at->second;
}

void fill_members(const HangEvidence& evidence, JobPicture& picture) { Members(evidence, picture).run(); }

}  // namespace ringcomm::inline v0::diag
