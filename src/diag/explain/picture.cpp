// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/picture.hpp"

#include <set>
#include <string_view>

#include "diag/explain/group_join.hpp"
#include "diag/explain/identity.hpp"

namespace ringcomm::inline v0::diag {
namespace {

bool is_dump(std::string_view format) {
  return format.starts_with("fr_") || format.find("record") != std::string_view::npos;
}

/// Side evidence of each rank, and of whom there is any evidence at all.
void attach(const HangEvidence& evidence, JobPicture& picture) {
  const auto of = [&picture](int index) -> RankPicture& {
    return picture.ranks[static_cast<std::size_t>(index)];
  };
  for (const EventFact& fact : evidence.events) {
    const int at = picture.find(fact.who, fact.group);
    if (at == kUnknown) continue;
    of(at).events.push_back(&fact);
    // What others say of a rank is no evidence of its own.
    const bool is_of_others = fact.kind == EventKind::unresponsive ||
                              fact.kind == EventKind::considered_dead ||
                              fact.kind == EventKind::missing_process || fact.kind == EventKind::exit_code ||
                              fact.kind == EventKind::oom_kill;
    of(at).has_evidence = of(at).has_evidence || !is_of_others;
  }
  for (const StackFact& fact : evidence.stacks) {
    const int at = picture.find(fact.who);
    if (at == kUnknown) continue;
    of(at).stacks.push_back(&fact);
    of(at).has_evidence = true;
  }
  for (const GpuSample& fact : evidence.gpus) {
    const int at = picture.find(fact.who);
    if (at != kUnknown) of(at).gpus.push_back(&fact);
  }
  for (const GroupPicture& group : picture.groups) {
    for (const MemberPicture& member : group.members) {
      if (member.rank != kUnknown && member.has_view) of(member.rank).has_evidence = true;
    }
  }
  std::set<std::string_view> unread;
  for (const UnreadFile& file : evidence.unread) unread.insert(file.file);
  for (const FileRead& file : evidence.files) {
    bool is_whole = false;
    for (const std::string& format : file.formats) is_whole = is_whole || is_dump(format);
    // A dump that was cut off does not show what is missing in it.
    is_whole = is_whole && !file.note.starts_with("ends ") && unread.count(file.path) == 0;
    for (const int rank : file.ranks) {
      const auto at = picture.index_of_rank.find(rank);
      if (at == picture.index_of_rank.end() || !is_whole) continue;
      of(at->second).has_dump = of(at->second).has_evidence = true;
    }
  }
  for (const Who& who : evidence.idle) {
    const int at = picture.find(who);
    if (at != kUnknown) of(at).has_dump = of(at).has_evidence = true;
  }
}

}  // namespace

JobPicture picture_of(const HangEvidence& evidence) {
  JobPicture picture;
  join_groups(evidence, picture);
  join_identities(evidence, picture);
  fill_members(evidence, picture);
  attach(evidence, picture);
  name_ranks(evidence, picture);
  return picture;
}

}  // namespace ringcomm::inline v0::diag
