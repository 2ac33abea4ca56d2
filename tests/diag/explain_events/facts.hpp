// SPDX-License-Identifier: Apache-2.0
// Facts built in code, and what the rules on side evidence make of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/explain/picture.hpp"

namespace ringcomm::diag {

using Labels = std::vector<std::string>;

/// Evidence in one file ("job.log"), one line per fact.
struct Facts {
  HangEvidence evidence;
  int line = 0;

  Facts() { evidence.files.emplace_back().path = "job.log"; }

  static Who rank(int number) {
    Who who;
    who.rank = number;
    return who;
  }
  static Who process(std::string host, std::int64_t pid, int gpu = kUnknown) {
    Who who;
    who.host = std::move(host);
    who.pid = pid;
    who.gpu = gpu;
    return who;
  }
  static Who peer(std::string address) {
    Who who;
    who.address = std::move(address);
    return who;
  }
  Source next() { return {0, ++line}; }
  EventFact& event(EventKind kind, Who who, std::string text) {
    EventFact& event = evidence.events.emplace_back();
    event.kind = kind;
    event.who = std::move(who);
    event.text = std::move(text);
    event.source = next();
    return event;
  }
  /// Seconds of the day.
  EventFact& event_at(EventKind kind, Who who, std::string text, int seconds) {
    EventFact& made = event(kind, std::move(who), std::move(text));
    made.time_ns = std::int64_t{seconds} * 1'000'000'000;
    return made;
  }
  /// An operation that timed out, with the watchdog's event.
  OpFact& timeout(int rank_number, std::int64_t seq, std::int64_t ran_for_s = 600) {
    event(EventKind::timeout, rank(rank_number), "Watchdog caught collective operation timeout").detail =
        "ALLREDUCE";
    OpFact& op = evidence.ops.emplace_back();
    op.who = rank(rank_number);
    op.op = OpClass::all_reduce;
    op.name = "ALLREDUCE";
    op.seq = seq;
    op.completed = Tri::no;
    op.is_timed_out = true;
    op.ran_for_ms = ran_for_s * 1000;
    op.timeout_ms = 600'000;
    op.source = next();
    return op;
  }
  /// A thread's stack, innermost frame first.
  StackFact& stack(int rank_number, std::vector<std::string> frames, std::string thread = "MainThread") {
    StackFact& made = evidence.stacks.emplace_back();
    made.who = rank(rank_number);
    made.thread = std::move(thread);
    made.frames = std::move(frames);
    made.source = next();
    return made;
  }
  void gpu(int rank_number, double percent, double watts) {
    GpuSample& made = evidence.gpus.emplace_back();
    made.who = rank(rank_number);
    made.utilisation_percent = percent;
    made.power_watts = watts;
    made.columns["power.limit [W]"] = "700 W";
    made.source = next();
  }
};

/// Everything that the rules on side evidence propose.
inline std::vector<Candidate> candidates_of(const HangEvidence& evidence) {
  const JobPicture picture = picture_of(evidence);
  std::vector<Candidate> out;
  for (const Rule rule : event_rules()) rule(evidence, picture, out);
  return out;
}

/// A copy, with kind insufficient_evidence and an empty rule where the rule proposed nothing.
inline Candidate found_by(const HangEvidence& evidence, std::string_view rule) {
  for (Candidate& candidate : candidates_of(evidence)) {
    if (candidate.rule == rule) return std::move(candidate);
  }
  return {};
}

inline bool has_rule(const HangEvidence& evidence, std::string_view rule) {
  return found_by(evidence, rule).rule == rule;
}

}  // namespace ringcomm::diag
