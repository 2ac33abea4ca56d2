// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/identity.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/group_join.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr int kAmbiguous = -2;
constexpr int kRankMax = 1 << 20;
constexpr int kWorldMax = 1 << 16;  // ranks that are only counted, not named

std::string_view host_of(const Who& who) { return who.host.empty() ? who.address : who.host; }

void merge(Who& into, const Who& from) {
  if (into.rank == kUnknown) into.rank = from.rank;
  if (into.pid == kUnknown) into.pid = from.pid;
  if (into.gpu == kUnknown) into.gpu = from.gpu;
  if (into.host.empty()) into.host = from.host;
  if (into.address.empty()) into.address = from.address;
  if (into.bus_id.empty()) into.bus_id = from.bus_id;
  if (into.name.empty()) into.name = from.name;
}

/// Collects every Who that any fact has, with the group that resolves its group rank.
class Identities {
 public:
  explicit Identities(JobPicture& picture) : picture_(picture) {}

  /// First pass: ranks, and which keys belong to which rank.
  void note_ranked(const Who& who) {
    if (who.rank < 0 || who.rank > kRankMax) return;
    const int index = rank_index(who.rank);
    merge(picture_.ranks[static_cast<std::size_t>(index)].who, who);
    for (std::string& key : keys_of(who, true)) own(std::move(key), index);
  }
  /// Second pass: processes of which no line tells the rank.
  void note_unranked(const Who& who) {
    if (who.rank >= 0) return;
    const bool is_process =
        who.pid != kUnknown || !who.name.empty() || (who.gpu != kUnknown && !host_of(who).empty());
    const int known = picture_.find(who);
    if (known != kUnknown) {
      merge(picture_.ranks[static_cast<std::size_t>(known)].who, who);
      for (std::string& key : keys_of(who, true)) own(std::move(key), known);
      return;
    }
    if (!is_process) return;
    const int index = static_cast<int>(picture_.ranks.size());
    picture_.ranks.emplace_back().who = who;
    for (std::string& key : keys_of(who, true)) own(std::move(key), index);
  }

  int rank_index(int rank) {
    const auto [at, is_new] =
        picture_.index_of_rank.try_emplace(rank, static_cast<int>(picture_.ranks.size()));
    if (is_new) picture_.ranks.emplace_back().who.rank = rank;
    return at->second;
  }

 private:
  void own(std::string key, int index) {
    const auto [at, is_new] = picture_.index_of_key.try_emplace(std::move(key), index);
    if (!is_new && at->second != index) at->second = kAmbiguous;
  }

  JobPicture& picture_;
};

/// Of a fact that names a rank inside a group only.
Who with_global_rank(const JobPicture& picture, Who who, const Source& source, std::string_view group) {
  if (who.rank != kUnknown || who.group_rank < 0) return who;
  const int at = picture.group_of(who, source, group);
  const GroupPicture* found = at == kUnknown ? nullptr : &picture.groups[static_cast<std::size_t>(at)];
  if (found != nullptr && !list_of(*found).empty()) {
    const std::vector<int>& ranks = list_of(*found);
    if (static_cast<std::size_t>(who.group_rank) < ranks.size())
      who.rank = ranks[static_cast<std::size_t>(who.group_rank)];
    return who;
  }
  // No list of ranks: true of the group that spans the job, and of logs that print one rank only.
  const bool spans_job = found == nullptr || found->unique_id.empty() ||
                         (picture.world_size && found->size == *picture.world_size);
  if (spans_job) who.rank = who.group_rank;
  return who;
}

template <class Visit>
void for_each_who(const HangEvidence& evidence, const Visit& visit) {
  static const Source nowhere{};
  for (const Who& who : evidence.identities) visit(who, nowhere, std::string_view{});
  for (const Who& who : evidence.idle) visit(who, nowhere, std::string_view{});
  for (const GroupFact& fact : evidence.groups) visit(fact.who, fact.source, std::string_view(fact.key));
  for (const OpFact& fact : evidence.ops) visit(fact.who, fact.source, std::string_view(fact.group));
  for (const StepFact& fact : evidence.steps) visit(fact.who, fact.source, std::string_view(fact.group));
  for (const CounterFact& fact : evidence.counters)
    visit(fact.who, fact.source, std::string_view(fact.group));
  for (const EventFact& fact : evidence.events) visit(fact.who, fact.source, std::string_view(fact.group));
  for (const StackFact& fact : evidence.stacks) visit(fact.who, fact.source, std::string_view{});
  for (const GpuSample& fact : evidence.gpus) visit(fact.who, fact.source, std::string_view{});
}

/// Nobody tells how many ranks there are: those below the highest one that is named exist, if they are few.
void fill_gaps(const JobPicture& picture, Identities& identities) {
  int highest = kUnknown;
  for (const auto& [rank, index] : picture.index_of_rank) highest = std::max(highest, rank);
  const std::size_t known = picture.index_of_rank.size();
  if (known < 2 || static_cast<std::size_t>(highest) + 1 - known >= known) return;
  for (int rank = 0; rank < highest; ++rank) identities.rank_index(rank);
}

/// One host and nobody tells a rank: the numbers of its GPUs stand in for ranks.
void ranks_from_gpus(JobPicture& picture) {
  std::set<std::string_view> hosts;
  std::set<int> gpus;
  for (const RankPicture& one : picture.ranks) {
    if (one.who.rank != kUnknown || one.who.gpu == kUnknown || !one.who.name.empty()) return;
    if (!gpus.insert(one.who.gpu).second) return;
    hosts.insert(host_of(one.who));
  }
  if (hosts.size() != 1) return;
  for (std::size_t i = 0; i < picture.ranks.size(); ++i) {
    RankPicture& one = picture.ranks[i];
    one.who.rank = one.who.gpu;
    one.is_rank_from_gpu = true;
    picture.index_of_rank.emplace(one.who.rank, static_cast<int>(i));
  }
}

/// By rank, those without one last, in the order of their keys: not in the order of files.
void sort_ranks(JobPicture& picture) {
  std::vector<std::pair<std::string, int>> order(picture.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = {key_of(picture.ranks[i].who), static_cast<int>(i)};
  std::sort(order.begin(), order.end(), [&picture](const auto& a, const auto& b) {
    const int left = picture.ranks[static_cast<std::size_t>(a.second)].who.rank;
    const int right = picture.ranks[static_cast<std::size_t>(b.second)].who.rank;
    if ((left == kUnknown) != (right == kUnknown)) return right == kUnknown;
    return left != right ? left < right : a < b;
  });
  std::vector<RankPicture> sorted(order.size());
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = std::move(picture.ranks[static_cast<std::size_t>(order[i].second)]);
    place[static_cast<std::size_t>(order[i].second)] = static_cast<int>(i);
  }
  picture.ranks = std::move(sorted);
  for (auto& [rank, index] : picture.index_of_rank) index = place[static_cast<std::size_t>(index)];
  for (auto& [key, index] : picture.index_of_key) {
    if (index >= 0) index = place[static_cast<std::size_t>(index)];
  }
}

}  // namespace

std::vector<std::string> keys_of(const Who& who, bool of_any_host) {
  std::vector<std::string> keys;
  const std::string_view host = host_of(who);
  const auto add = [&](std::string_view kind, const auto& value) {
    keys.push_back(concat(kind, '/', host, '/', value));
    if (of_any_host && !host.empty()) keys.push_back(concat(kind, "//", value));
  };
  if (who.pid != kUnknown) add("pid", who.pid);
  if (!who.name.empty()) keys.push_back(concat("name/", who.name));
  if (!who.bus_id.empty()) add("bus", who.bus_id);
  if (who.gpu != kUnknown) add("gpu", who.gpu);
  return keys;
}

std::string key_of(const Who& who) {
  if (who.rank >= 0) return concat("rank/", who.rank);
  const std::vector<std::string> keys = keys_of(who, false);
  return keys.empty() ? std::string() : keys.front();
}

int JobPicture::find(const Who& who, std::string_view group) const {
  if (who.rank != kUnknown) {
    const auto at = index_of_rank.find(who.rank);
    return at == index_of_rank.end() ? kUnknown : at->second;
  }
  for (const std::string& key : keys_of(who, false)) {
    const auto at = index_of_key.find(key);
    // A process that nobody knows is not the one that shares its GPU's number.
    if (at == index_of_key.end() && key.starts_with("pid/")) break;
    if (at == index_of_key.end() || at->second < 0) continue;
    // One process may drive several GPUs, each a rank.
    const int gpu = ranks[static_cast<std::size_t>(at->second)].who.gpu;
    if (who.gpu == kUnknown || gpu == kUnknown || gpu == who.gpu) return at->second;
  }
  if (who.group_rank < 0) return kUnknown;
  const Who global = with_global_rank(*this, who, {}, group);
  const auto at = index_of_rank.find(global.rank);
  return at == index_of_rank.end() ? kUnknown : at->second;
}

void join_identities(const HangEvidence& evidence, JobPicture& picture) {
  Identities identities(picture);
  for (const GroupPicture& group : picture.groups) {  // members that no line is about are ranks as well
    for (const GroupFact* view : group.views) {
      for (const int rank : view->ranks) {
        if (rank >= 0 && rank <= kRankMax) identities.rank_index(rank);
      }
    }
  }
  int last = kUnknown;  // an operation more of the rank that the line before was about
  for_each_who(evidence, [&](const Who& who, const Source& source, std::string_view group) {
    if (who.rank != kUnknown && who.rank == last && who.pid == kUnknown && who.host.empty()) return;
    last = who.rank;
    identities.note_ranked(with_global_rank(picture, who, source, group));
  });
  for_each_who(evidence, [&](const Who& who, const Source& source, std::string_view group) {
    if (who.rank == kUnknown) identities.note_unranked(with_global_rank(picture, who, source, group));
  });
  if (!picture.world_size) fill_gaps(picture, identities);
  if (picture.world_size) {
    for (int rank = 0; rank < std::min(*picture.world_size, kWorldMax); ++rank) {
      if (!picture.index_of_rank.empty()) identities.rank_index(rank);
    }
  }
  ranks_from_gpus(picture);
  sort_ranks(picture);
}

void name_ranks(const HangEvidence& evidence, JobPicture& picture) {
  // " (rank 1 of comm b339...)": all that RAS tells of a process of a group that does not span the job.
  std::unordered_map<int, std::string> roles;
  const auto note = [&](const Who& who, const Source& source, std::string_view key) {
    if (who.rank != kUnknown || who.group_rank < 0) return;
    const int at = picture.find(who);
    const int group = picture.group_of(who, source, key);
    if (at == kUnknown || group == kUnknown) return;
    const std::string& unique = picture.groups[static_cast<std::size_t>(group)].unique_id;
    if (!unique.empty()) roles.try_emplace(at, concat(" (rank ", who.group_rank, " of comm ", unique, ')'));
  };
  for (const EventFact& fact : evidence.events) note(fact.who, fact.source, fact.group);
  for (const CounterFact& fact : evidence.counters) note(fact.who, fact.source, fact.group);
  for (std::size_t i = 0; i < picture.ranks.size(); ++i) {
    RankPicture& one = picture.ranks[i];
    const std::string_view host = host_of(one.who);
    if (one.who.rank != kUnknown) {
      one.label = std::to_string(one.who.rank);
    } else if (!one.who.name.empty()) {
      one.label = one.who.name;
    } else if (one.who.pid != kUnknown) {
      one.label =
          concat("process ", one.who.pid, host.empty() ? "" : " on ", host, roles[static_cast<int>(i)]);
    } else {
      one.label = concat("GPU ", one.who.gpu, " of ", host);
    }
  }
}

}  // namespace ringcomm::inline v0::diag
