// SPDX-License-Identifier: Apache-2.0
#include "plan/mutate.hpp"

#include <algorithm>
#include <functional>

namespace ringcomm::plan::testing {
namespace {

/// A slice whose `after` names an operation, wherever it moves.
class EditableSlice {
 public:
  explicit EditableSlice(const RankPlan& slice) {
    for (std::size_t index = 0; index < slice.ops.size(); ++index)
      lines_.push_back({static_cast<int>(index), slice.ops[index]});
  }

  std::size_t size() const { return lines_.size(); }
  Op& op(std::size_t index) { return lines_[index].op; }
  void erase(std::size_t index) { lines_.erase(begin(index)); }
  void double_op(std::size_t index) {
    Line copy = lines_[index];
    copy.id = -2;
    lines_.insert(begin(index + 1), copy);
  }
  void swap(std::size_t a, std::size_t b) { std::swap(lines_[a], lines_[b]); }
  void move(std::size_t from, std::size_t to) {
    if (from < to) {
      std::rotate(begin(from), begin(from + 1), begin(to + 1));
    } else {
      std::rotate(begin(to), begin(from), begin(from + 1));
    }
  }
  std::vector<Op> ops() const {
    std::vector<Op> ops;
    for (const Line& line : lines_) {
      ops.push_back(line.op);
      if (line.op.after == kNone) continue;
      const auto target = std::find_if(lines_.begin(), lines_.end(),
                                       [&](const Line& other) { return other.id == line.op.after; });
      ops.back().after = target == lines_.end() ? kNone : static_cast<int>(target - lines_.begin());
    }
    return ops;
  }

 private:
  struct Line {
    int id;
    Op op;
  };
  std::vector<Line>::iterator begin(std::size_t index) {
    return lines_.begin() + static_cast<std::ptrdiff_t>(index);
  }
  std::vector<Line> lines_;
};

class Mutator {
 public:
  Mutator(const std::vector<RankPlan>& original, std::mt19937& random)
      : slice_index_(random() % original.size()),
        original_(original[slice_index_]),
        slice_(original_),
        random_(random) {}

  bool apply(Mutation mutation) {
    if (slice_.size() == 0) return false;
    const std::size_t any = pick(slice_.size());
    switch (mutation) {
      case Mutation::op_deleted:
        return say("deleted ", any), slice_.erase(any), true;
      case Mutation::op_doubled:
        return say("doubled ", any), slice_.double_op(any), true;
      case Mutation::ops_swapped:
        return swap(any, nearby(any));
      case Mutation::op_moved:
        return move(any, nearby(any));
      case Mutation::slot_shared:
        return share_slot();
      case Mutation::after_removed:
        return on_one([](const Op& op) { return op.after != kNone; }, "after removed of ",
                      [](Op& op) { op.after = kNone; });
      case Mutation::number_changed:
        return change_number(slice_.op(any), any);
      case Mutation::release_earlier:
        return release_earlier();
    }
    return false;
  }

  Mutant result(const std::vector<RankPlan>& original) const {
    Mutant mutant{original, what_};
    mutant.slices[slice_index_].ops = slice_.ops();
    return mutant;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  /// Half of all edits stay close, where operations are more often independent of each other.
  std::size_t nearby(std::size_t index) {
    if (pick(2) == 0) return pick(slice_.size());
    const std::size_t shifted = index + pick(5);
    return std::min(shifted < 2 ? 0 : shifted - 2, slice_.size() - 1);
  }
  template <class... Pieces>
  void say(const Pieces&... pieces) {
    what_ = concat("rank ", original_.rank, ": ", pieces...);
  }

  bool swap(std::size_t a, std::size_t b) {
    say("swapped ", a, " and ", b);
    slice_.swap(a, b);
    return a != b;
  }
  bool move(std::size_t from, std::size_t to) {
    say("moved ", from, " to ", to);
    slice_.move(from, to);
    return from != to;
  }

  bool on_one(const std::function<bool(const Op&)>& suits, std::string_view what,
              const std::function<void(Op&)>& change) {
    std::vector<std::size_t> suitable;
    for (std::size_t index = 0; index < slice_.size(); ++index) {
      if (suits(slice_.op(index))) suitable.push_back(index);
    }
    if (suitable.empty()) return false;
    const std::size_t index = suitable[pick(suitable.size())];
    say(what, index);
    change(slice_.op(index));
    return true;
  }

  bool share_slot() {
    const auto slots = original_.slots.size();
    if (slots < 2) return false;
    const auto other = [&](std::int32_t slot) {
      return static_cast<std::int32_t>((static_cast<std::size_t>(slot) + 1 + pick(slots - 1)) % slots);
    };
    return on_one([](const Op& op) { return op.slot != kNone || op.target_slot != kNone; }, "other slot of ",
                  [&](Op& op) {
                    std::int32_t& slot = op.slot == kNone || (op.target_slot != kNone && pick(2) == 0)
                                             ? op.target_slot
                                             : op.slot;
                    slot = other(slot);
                  });
  }

  bool change_number(Op& op, std::size_t index) {
    switch (pick(5)) {
      case 0:
        say("bytes + 1 of ", index);
        ++op.bytes;
        return true;
      case 1:
        say("half the bytes of ", index);
        return std::exchange(op.bytes, op.bytes / 2) != op.bytes;
      case 2:
        say("next block of ", index);
        op.block = (op.block + 1) % original_.ranks;
        return original_.ranks > 1;
      case 3:
        say("next step of ", index);
        op.step = (op.step + 1) % original_.steps;
        return original_.steps > 1;
      default:
        say("offset + 1 of ", index);
        ++op.offset;
        return true;
    }
  }

  bool release_earlier() {
    std::vector<std::size_t> releases;
    for (std::size_t index = 1; index < slice_.size(); ++index) {
      if (slice_.op(index).kind == OpKind::release) releases.push_back(index);
    }
    if (releases.empty()) return false;
    const std::size_t from = releases[pick(releases.size())];
    return move(from, from - 1 - pick(std::min<std::size_t>(from, 4)));
  }

  std::size_t slice_index_;
  const RankPlan& original_;
  EditableSlice slice_;
  std::mt19937& random_;
  std::string what_;
};

}  // namespace

std::optional<Mutant> mutate(const std::vector<RankPlan>& original, Mutation mutation, std::mt19937& random) {
  Mutator mutator(original, random);
  if (!mutator.apply(mutation)) return std::nullopt;
  return mutator.result(original);
}

}  // namespace ringcomm::plan::testing
