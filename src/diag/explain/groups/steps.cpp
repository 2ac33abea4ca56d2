// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/steps.hpp"

#include <algorithm>

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kRecentOperations = 4;  // ranks differ by no more while they wait for one another

std::int64_t newest_seq(const MemberPicture& member) {
  std::int64_t newest = 0;
  for (const StepFact* step : member.steps) newest = std::max(newest, step->seq);
  return newest;
}

}  // namespace

StepIndex::StepIndex(const JobPicture& picture) : picture_(picture), has_steps_(picture.groups.size(), 0) {
  for (std::size_t g = 0; g < picture.groups.size(); ++g) {
    for (const MemberPicture& member : picture.groups[g].members) {
      if (member.steps.empty()) continue;
      has_steps_[g] = 1;
      const std::int64_t oldest = newest_seq(member) - kRecentOperations;
      for (const StepFact* step : member.steps) {
        if (step->is_incoming || step->seq < oldest) continue;
        const auto to = picture.index_of_rank.find(step->peer);
        if (to == picture.index_of_rank.end()) continue;
        sent_[{static_cast<int>(g), member.rank, to->second, step->seq, step->step}] = step;
      }
    }
  }
}

bool StepIndex::is_inside(int group, int rank, std::int64_t seq) const {
  const GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
  const int at = in.member_of(rank);
  if (at == kUnknown) return false;
  const auto& steps = in.members[static_cast<std::size_t>(at)].steps;
  return !steps.empty() && steps.back()->seq >= seq;
}

const StepFact* StepIndex::waiting_step(int group, int rank, std::int64_t seq) const {
  const GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
  const int at = in.member_of(rank);
  if (at == kUnknown) return nullptr;
  const StepFact* outgoing = nullptr;
  const auto& steps = in.members[static_cast<std::size_t>(at)].steps;
  for (auto step = steps.rbegin(); step != steps.rend() && (*step)->seq >= seq; ++step) {
    if ((*step)->seq != seq) continue;
    if ((*step)->is_incoming && !(*step)->arrived_ns) return *step;
    // Arrived and not computed: it works on this block and waits for nobody.
    if ((*step)->is_incoming && !(*step)->computed_ns && !(*step)->released_ns) return nullptr;
    if (!(*step)->is_incoming && !(*step)->released_ns && outgoing == nullptr) outgoing = *step;
  }
  return outgoing;
}

std::optional<WaitTarget> StepIndex::target(int group, int rank, std::int64_t seq,
                                            const std::vector<RankWait>& ranks) const {
  const StepFact* step = waiting_step(group, rank, seq);
  if (step == nullptr) return std::nullopt;
  const auto to = picture_.index_of_rank.find(step->peer);
  if (to == picture_.index_of_rank.end()) return WaitTarget{};
  const int peer = to->second;
  const GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
  const int at = in.member_of(peer);
  if (at == kUnknown || !in.members[static_cast<std::size_t>(at)].has_view)
    return WaitTarget{peer, TargetState::unknown};
  const MemberPicture& member = in.members[static_cast<std::size_t>(at)];
  if (step->is_incoming) {
    const bool is_sent = sent_.count({group, peer, rank, step->seq, step->step}) != 0;
    if (is_sent) return std::nullopt;  // on its way: the path, not the peer
  }
  // It has left the operation, or has not come to it, or is at another step of it.
  const bool is_inside = !ranks[static_cast<std::size_t>(peer)].heads.empty();
  const bool has_come = member.enqueued.value_or(0) >= seq;
  return WaitTarget{peer, is_inside && has_come ? TargetState::behind : TargetState::missing};
}

}  // namespace ringcomm::inline v0::diag
