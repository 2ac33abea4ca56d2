// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/p2p.hpp"

#include <algorithm>

#include "diag/explain/groups/texts.hpp"

namespace ringcomm::inline v0::diag {
namespace {

bool is_half(const OpFact& op) { return (op.op == OpClass::send || op.op == OpClass::recv) && op.peer >= 0; }

}  // namespace

PairIndex::PairIndex(const JobPicture& picture) : picture_(picture) {
  for (std::size_t g = 0; g < picture.groups.size(); ++g) {
    const GroupPicture& group = picture.groups[g];
    if (!group.has_p2p) continue;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const auto id = std::pair(static_cast<int>(g), static_cast<int>(m));
      std::optional<std::int64_t> first;
      const auto note = [&](const OpFact* op, bool is_open) {
        if (is_p2p(*op) && op->p2p_seq && (!first || *op->p2p_seq < *first)) first = op->p2p_seq;
        if (!is_half(*op)) return;
        Calls& calls = calls_[{id.first, id.second, op->peer, op->op == OpClass::send}];
        if (is_open) {
          calls.open.push_back(op);
        } else {
          ++calls.completed;
        }
      };
      for (const OpFact* op : group.members[m].history) note(op, false);
      for (const OpFact* op : group.members[m].open) note(op, true);
      is_whole_[id] = first && *first <= 1;
    }
  }
}

const PairIndex::Calls* PairIndex::find(const Key& key) const {
  const auto at = calls_.find(key);
  return at == calls_.end() ? nullptr : &at->second;
}

std::optional<WaitTarget> PairIndex::target(int group, int rank, const OpFact& op,
                                            const std::vector<RankWait>& ranks) const {
  if (!is_half(op)) return std::nullopt;
  const GroupPicture& in = picture_.groups[static_cast<std::size_t>(group)];
  const int own = in.member_of(rank);
  if (own == kUnknown || static_cast<std::size_t>(op.peer) >= in.members.size()) return WaitTarget{};
  const MemberPicture& peer = in.members[static_cast<std::size_t>(op.peer)];
  if (peer.rank == kUnknown) return WaitTarget{};
  const RankPicture& who = picture_.ranks[static_cast<std::size_t>(peer.rank)];
  if (!peer.has_view && !who.has_dump) return WaitTarget{peer.rank, TargetState::unknown};
  const RankWait& wait = ranks[static_cast<std::size_t>(peer.rank)];
  const bool is_send = op.op == OpClass::send;
  const Calls* mine = find({group, own, op.peer, is_send});
  const Calls* theirs = find({group, op.peer, own, !is_send});
  if (mine == nullptr) return WaitTarget{};
  const auto at = std::find(mine->open.begin(), mine->open.end(), &op) - mine->open.begin();
  const auto number = static_cast<std::size_t>(at);
  const bool is_whole = is_whole_.at({group, own}) && (theirs == nullptr || is_whole_.at({group, op.peer}));

  const OpFact* other_half = nullptr;
  if (is_whole) {
    const std::size_t nth = mine->completed + number;  // from 0
    const std::size_t calls = theirs == nullptr ? 0 : theirs->completed + theirs->open.size();
    if (nth >= calls) return WaitTarget{peer.rank, TargetState::missing};
    if (nth < theirs->completed)
      return std::nullopt;  // done over there: only the rest of its own call is open
    other_half = theirs->open[nth - theirs->completed];
  } else if (theirs != nullptr && number < theirs->open.size()) {
    other_half = theirs->open[number];
  }
  if (other_half != nullptr) {
    const auto& parts = wait.heads.empty() ? std::vector<const OpFact*>{} : wait.heads.front().parts;
    const bool is_its_head = std::find(parts.begin(), parts.end(), other_half) != parts.end();
    if (is_its_head || wait.heads.empty()) return std::nullopt;
    return WaitTarget{peer.rank, TargetState::behind};
  }
  if (!wait.heads.empty()) return WaitTarget{peer.rank, TargetState::behind};
  // Nothing open over there. Counts are per rank, so they tell only where a group has no third member, or
  // where this one has made fewer calls in all.
  if (peer.enqueued && op.p2p_seq && *peer.enqueued >= *op.p2p_seq)
    return WaitTarget{peer.rank, TargetState::unknown};
  return WaitTarget{peer.rank, who.has_dump ? TargetState::missing : TargetState::unknown};
}

}  // namespace ringcomm::inline v0::diag
