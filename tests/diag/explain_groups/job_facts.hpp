// SPDX-License-Identifier: Apache-2.0
// Facts of a job as readers would give them, made in code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ringcomm/diag/explain.hpp"

namespace ringcomm::explain_test {

using diag::OpClass;
using diag::Tri;

struct Job {
  diag::HangEvidence evidence;

  /// One dump for each rank; file k is of rank k.
  explicit Job(int ranks, const char* format = "fr_json") {
    for (int rank = 0; rank < ranks; ++rank)
      evidence.files.push_back(
          {.path = "rank_" + std::to_string(rank) + ".json", .formats = {format}, .ranks = {rank}});
  }

  static diag::Who who(int rank) {
    diag::Who one;
    one.rank = rank;
    return one;
  }

  /// Every member's view of it.
  Job& group(const std::string& name, const std::vector<int>& ranks, const std::string& description = "") {
    for (const int rank : ranks) view(rank, name, ranks, description);
    return *this;
  }
  Job& view(int rank, const std::string& name, const std::vector<int>& ranks,
            const std::string& description = "") {
    diag::GroupFact fact;
    fact.key = fact.name = name;
    fact.description = description;
    fact.ranks = ranks;
    fact.who = who(rank);
    fact.source.file = rank;
    evidence.groups.push_back(std::move(fact));
    return *this;
  }
  Job& counts(int rank, const std::string& group, std::int64_t enqueued, std::int64_t completed) {
    diag::CounterFact fact;
    fact.who = who(rank);
    fact.group = group;
    fact.enqueued = enqueued;
    fact.completed = completed;
    fact.source.file = rank;
    evidence.counters.push_back(std::move(fact));
    return *this;
  }
  /// An open call; `elements` below 0: not told.
  diag::OpFact& open(int rank, const std::string& group, std::int64_t seq, OpClass op = OpClass::all_reduce,
                     std::int64_t elements = 1024) {
    diag::OpFact fact;
    fact.who = who(rank);
    fact.group = group;
    fact.op = op;
    fact.name = name_of(op);
    fact.seq = seq;
    fact.completed = Tri::no;
    if (elements >= 0) fact.elements_in = fact.elements_out = elements;
    fact.source = {rank, 0};
    fact.created_ns = 1'000'000'000 + ++clock_;
    evidence.ops.push_back(std::move(fact));
    return evidence.ops.back();
  }
  diag::OpFact& done(int rank, const std::string& group, std::int64_t seq, OpClass op = OpClass::all_reduce,
                     std::int64_t elements = 1024) {
    diag::OpFact& fact = open(rank, group, seq, op, elements);
    fact.completed = Tri::yes;
    return fact;
  }
  /// A send or receive; peers are ranks of the group.
  diag::OpFact& message(int rank, const std::string& group, bool is_send, int peer, std::int64_t number,
                        bool is_open) {
    diag::OpFact& fact = open(rank, group, 0, is_send ? OpClass::send : OpClass::recv);
    fact.name = is_send ? "send " + std::to_string(rank) + "->" + std::to_string(peer)
                        : "recv " + std::to_string(rank) + "<-" + std::to_string(peer);
    fact.seq.reset();
    fact.p2p_seq = number;
    fact.peer = peer;
    if (!is_open) fact.completed = Tri::yes;
    return fact;
  }

 private:
  std::int64_t clock_ = 0;
};

using Labels = std::vector<std::string>;

}  // namespace ringcomm::explain_test
