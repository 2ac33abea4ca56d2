// SPDX-License-Identifier: Apache-2.0
// Executes all slices of a plan in one thread, with mailboxes, acknowledgements and bytes that know their
// origin.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::plan::testing {

/// What one byte of memory is.
struct Byte {
  int block = -1;  ///< -1: never written
  std::uint64_t offset = 0;
  bool is_merged = false;
};
using Bytes = std::vector<Byte>;

/// Operations that are posted together: one, or a group.
struct Unit {
  int rank = 0;
  int queue = 0;
  std::vector<int> ops;
};

/// A place that a unit touched: bytes of a slot, or (place < 0) the handle of a view.
struct Touch {
  int unit = 0;
  int owner = 0;
  int place = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool writes = false;
};

class ToyMachine {
 public:
  /// `origins` as in Coverage: where in a block each rank's consumer begins.
  explicit ToyMachine(const std::vector<RankPlan>& slices, const std::vector<std::uint64_t>& origins);
  const std::vector<Unit>& units() const { return units_; }

  struct Outcome {
    bool is_finished = false;  ///< all units ended and nothing is left in a lane
    std::string fault;         ///< first disagreement seen
    std::string detail;
    std::vector<char> begun;  ///< [unit]
    std::vector<Touch> touches;
  };
  /// `held` begins but never ends (-1: nobody is held).
  Outcome run(int held);

 private:
  struct Message {
    int unit = 0;
    const Op* op = nullptr;
    Bytes payload;  ///< of a send
  };
  /// From an owner to a reader.
  struct Lane {
    std::deque<Message> offers;       ///< not taken yet
    std::deque<const Op*> unclaimed;  ///< offers that the owner has not reclaimed
    std::vector<Message> sends;
    std::vector<const Op*> recvs;
    struct Held {
      const Op* op;
      int view;  ///< -1 for a pull
    };
    std::deque<Held> unreleased;
    std::deque<const Op*> acknowledgements;
    int latest_view = -1;
  };
  struct View {
    int owner = 0;
    const Op* offer = nullptr;
    bool is_held = true;
  };

  Lane& lane(int owner, int reader) { return lanes_[static_cast<std::size_t>(owner * ranks_ + reader)]; }
  bool step(int rank, int queue, int held);
  bool may_start(const Unit& unit) const;
  void start(int index);
  bool can_end(int index);
  bool message_can_end(const Op& op, int rank, std::size_t turn);
  void end(int index);
  void end_transfer(int index, const Op& op);
  void compute(int index, const Op& op);
  void merge(int index, const Op& op);
  const View* view_of(int index, const Op& op, int peer);
  Bytes read(int index, int owner, int slot, std::uint64_t offset, std::uint64_t bytes);
  void write(int index, int slot, std::uint64_t offset, const Bytes& bytes);
  void store(int rank, int slot, std::uint64_t offset, const Bytes& bytes);
  void touch(int index, int owner, int place, std::uint64_t first, std::uint64_t end, bool writes);
  void expect(const Bytes& bytes, int block, const Op& op);
  void expect_origin(const Bytes& bytes, std::uint64_t origin, bool is_merged, const Op& op);
  void expect_same(const Op& a, const Op& b);
  void fault(const char* kind, const Op& op, std::string detail);

  const std::vector<RankPlan>& slices_;
  const std::vector<std::uint64_t>& origins_;
  int ranks_;
  std::vector<Unit> units_;
  std::vector<std::vector<int>> queues_;   ///< [rank * 2 + queue] units in order
  std::vector<std::vector<int>> unit_of_;  ///< [rank][op]
  // State of one run:
  Outcome outcome_;
  std::vector<char> started_;
  std::vector<char> ended_;
  std::vector<std::vector<std::size_t>> turns_;  ///< [unit][member] position in its message lane
  std::vector<std::size_t> next_;                ///< [rank * 2 + queue]
  std::vector<Lane> lanes_;
  std::vector<View> views_;
  std::vector<std::vector<Bytes>> memory_;  ///< [rank][slot]
};

}  // namespace ringcomm::plan::testing
