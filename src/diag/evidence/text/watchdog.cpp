// SPDX-License-Identifier: Apache-2.0
// Lines of the watchdogs of PyTorch's process groups, from 1.12 on. The words changed with the versions, and
// terminals break lines anywhere, so everything is looked for in the text without its blanks.
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::size_t kMessageMax = 8192;

std::string without_blanks(std::string_view text) {
  std::string out;
  out.reserve(std::min(text.size(), kMessageMax));
  for (const char c : text.substr(0, kMessageMax)) {
    if (!is_blank(c)) out += c;
  }
  return out;
}

/// "[Rank 7]", "[PG 0 (default_pg) Rank 7]", "[PG ID 2 PG GUID 9(EXPERT_GROUP) Rank 4]" without blanks.
struct Bracket {
  int rank = kUnknown;
  std::string key, name, description;
};

void take_group(std::string_view inside, Bracket& out) {
  std::string_view id;
  if (take(inside, "PGID")) {
    id = inside.substr(0, inside.find("PGGUID"));
    inside.remove_prefix(id.size());
    if (!take(inside, "PGGUID")) return;
  } else if (!take(inside, "PG")) {
    return;
  }
  const std::size_t open = inside.find('(');
  std::string_view name = inside.substr(0, open);
  if (open != std::string_view::npos) {
    const std::size_t close = inside.rfind(')');
    if (close != std::string_view::npos && close > open)
      out.description = inside.substr(open + 1, close - open - 1);
  }
  if (name.empty() || name.size() > 200) return;
  out.name = name;
  out.key = id.empty() ? concat("PG ", name) : concat("PG ID ", id, " PG GUID ", name);
}

/// The bracket that names the group, else the first that names a rank.
Bracket bracket_of(std::string_view squeezed) {
  Bracket best;
  for (std::size_t at = squeezed.find("Rank"); at != std::string_view::npos;
       at = squeezed.find("Rank", at + 4)) {
    std::string_view rest = squeezed.substr(at + 4);
    const int rank = small_number(take_number(rest));
    const std::size_t open = squeezed.substr(0, at).rfind('[');
    if (rank == kUnknown || !rest.starts_with("]") || open == std::string_view::npos || at - open > 300)
      continue;
    Bracket one;
    one.rank = rank;
    take_group(squeezed.substr(open + 1, at - open - 1), one);
    if (best.rank == kUnknown || (best.key.empty() && !one.key.empty())) best = std::move(one);
  }
  return best;
}

std::vector<std::vector<std::int64_t>> shape_of(std::string_view squeezed) {
  auto rest = after(squeezed, "TensorShape=[");
  std::vector<std::int64_t> shape;
  while (rest && shape.size() < 16) {
    const auto size = take_number(*rest);
    if (!size) break;
    shape.push_back(*size);
    if (!take(*rest, ",")) break;
  }
  if (shape.empty()) return {};
  return {shape};
}

/// "WorkNCCL(SeqNum=1,OpType=ALLREDUCE,NumelIn=1,NumelOut=1,Timeout(ms)=600000)" of any backend.
std::optional<OpFact> op_of(std::string_view squeezed) {
  std::size_t at = squeezed.find("OpType=");
  const std::size_t seq_at = squeezed.find("SeqNum=");
  if (at == std::string_view::npos) return std::nullopt;
  at = std::min(at, seq_at);
  const std::size_t work = squeezed.substr(0, at).rfind("Work");
  if (work == std::string_view::npos || squeezed[at - 1] != '(' || at - work > 16) return std::nullopt;
  OpFact op;
  op.name = squeezed.substr(squeezed.find("OpType=") + 7);
  op.name.resize(std::min(op.name.find_first_of(",)"), std::min<std::size_t>(op.name.size(), 80)));
  op.op = op_class_of(op.name);
  op.seq = number_after(squeezed, "SeqNum=");
  op.elements_in = number_after(squeezed, "NumelIn=");
  op.elements_out = number_after(squeezed, "NumelOut=");
  op.timeout_ms = number_after(squeezed, "Timeout(ms)=");
  op.input_sizes = shape_of(squeezed);
  op.ran_for_ms = number_after(squeezed, "ranfor");
  op.completed = Tri::no;
  return op;
}

class WatchdogReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    if (read_last_error(line, facts)) return true;
    const bool is_of_group =
        contains(line.text, "ProcessGroup") || contains(line.text, "[Rank") || contains(line.text, "[PG");
    const bool is_of_work = contains(line.text, "OpType=") || contains(line.text, "NCCL work") ||
                            contains(line.text, "last enqueued");
    if (!is_of_group && !is_of_work && !contains(line.text, "ranfor")) return read_frame(line, facts);
    const std::string squeezed = without_blanks(line.text);
    const Bracket bracket = bracket_of(squeezed);
    const bool is_known = read_facts(line, squeezed, bracket, facts);
    if (is_known) facts.format("watchdog_log");
    return is_known;
  }

 private:
  Who who_of(const Line& line, const Bracket& bracket) const {
    Who who;
    who.rank = line.who.rank;
    // "[rank3]:" may be in the middle of a torn line.
    if (who.rank == kUnknown) who.rank = small_number(number_after(line.text, "[rank"));
    who.group_rank = bracket.rank;
    // Ranks of the default group, and of old lines that name no group, are the job's.
    const bool is_default = bracket.name.empty() || bracket.name == "0" ||
                            bracket.description == "default_pg" || bracket.name == "default_pg";
    if (who.rank == kUnknown && is_default) who.rank = bracket.rank;
    return who;
  }

  static std::optional<std::int64_t> time_of(const Line& line) {
    if (line.time_ns) return line.time_ns;
    const std::size_t place = line.text.find("ProcessGroup");
    if (place == std::string_view::npos) return std::nullopt;
    // "ued NCCL E114 16:14:58.9 ProcessGroupNCCL.cpp": the beginning was overwritten.
    const std::string_view before =
        line.text.substr(place > 40 ? place - 40 : 0, std::min<std::size_t>(place, 40));
    for (std::size_t at = before.find_last_of("EWIF"); at != std::string_view::npos && at > 0;
         at = before.find_last_of("EWIF", at - 1)) {
      if (const auto time = glog_time(before.substr(at))) return time;
    }
    return glog_time(before);
  }

  bool read_facts(const Line& line, std::string_view squeezed, const Bracket& bracket, Facts& facts) {
    Who who = who_of(line, bracket);
    const auto time = time_of(line);
    tell_group(bracket, who, facts);
    bool is_known = read_op(squeezed, who, bracket, time, facts);
    is_known = read_status(squeezed, who, bracket, time, facts) || is_known;
    is_known = read_words(squeezed, who, bracket, time, facts) || is_known;
    if (is_known) last_ = facts.completed(who);
    return is_known || (contains(squeezed, "ProcessGroup") && bracket.rank != kUnknown);
  }

  void tell_group(const Bracket& bracket, const Who& who, Facts& facts) {
    if (bracket.key.empty()) return;
    const Who whole = facts.completed(who);
    if (groups_.size() >= kWritersMax || !groups_.emplace(whole.rank, whole.group_rank, bracket.key).second)
      return;
    GroupFact group;
    group.key = bracket.key;
    group.name = bracket.name;
    group.description = bracket.description;
    group.backend = "nccl";
    group.who = who;
    facts.add(std::move(group));
  }

  void add_event(EventKind kind, const Who& who, const Bracket& bracket, std::optional<std::int64_t> time,
                 std::string_view detail, std::int64_t code, Facts& facts) {
    EventFact event;
    event.kind = kind;
    event.who = who;
    event.group = bracket.key;
    event.time_ns = time;
    event.detail = detail;
    event.code = code;
    facts.add(std::move(event));
  }

  bool read_op(std::string_view squeezed, const Who& who, const Bracket& bracket,
               std::optional<std::int64_t> time, Facts& facts) {
    auto op = op_of(squeezed);
    if (!op) return false;
    op->who = who;
    op->group = bracket.key;
    const bool is_error =
        contains(squeezed, "raisedthefollowingasyncexception") || contains(squeezed, "NCCLerror:");
    op->is_timed_out =
        !is_error && (contains(squeezed, "timeout:") || op->ran_for_ms || contains(squeezed, "timedout"));
    if (time && op->ran_for_ms && *op->ran_for_ms >= 0 && *op->ran_for_ms < kYearScaleNs / 1'000'000)
      op->created_ns = *time - *op->ran_for_ms * 1'000'000;
    const EventKind kind = is_error ? EventKind::async_error : EventKind::timeout;
    // The exception's text repeats the line when the process ends.
    const Who whole = facts.completed(who);
    const bool is_new =
        seen_.size() >= kWritersMax ||
        seen_.emplace(whole.rank, whole.group_rank, op->seq.value_or(-1), op->ran_for_ms.value_or(-1)).second;
    if (!is_new) return true;
    const std::int64_t seq = op->seq.value_or(kUnknown);
    const std::string name = op->name;
    if (op->is_timed_out || is_error) add_event(kind, who, bracket, time, name, seq, facts);
    facts.add(std::move(*op));
    return true;
  }

  bool read_status(std::string_view squeezed, const Who& who, const Bracket& bracket,
                   std::optional<std::int64_t> time, Facts& facts) {
    CounterFact counter;
    counter.who = who;
    counter.group = bracket.key;
    for (const std::string_view what : {"work:", "NCCLwork:", "XCCLwork:", "collective:"}) {
      if (!counter.enqueued) counter.enqueued = number_after(squeezed, concat("lastenqueued", what));
      if (!counter.started) counter.started = number_after(squeezed, concat("laststarted", what));
      if (!counter.completed) counter.completed = number_after(squeezed, concat("lastcompleted", what));
    }
    auto at = number_after(squeezed, "atwork:");
    if (!at) at = number_after(squeezed, "atworksequenceid:");
    if (!at) at = number_after(squeezed, "TimeoutatNCCLwork:");
    if (at && !bracket.key.empty()) facts.tell_group(who, *at, bracket.key);
    if (!counter.enqueued && !counter.completed && !at) return false;
    // The stuck operation itself was enqueued, whatever of the line is lost.
    if (at && !counter.enqueued) counter.enqueued = at;
    if (at) add_event(EventKind::timeout, who, bracket, time, "watchdog", *at, facts);
    facts.add(std::move(counter));
    return true;
  }

  bool read_words(std::string_view squeezed, const Who& who, const Bracket& bracket,
                  std::optional<std::int64_t> time, Facts& facts) {
    if (contains(squeezed, "watchdoggotstuck") || contains(squeezed, "eartbeatmonitortimedout")) {
      const std::int64_t seconds = number_after(squeezed, "gotstuckfor").value_or(0);
      add_event(EventKind::heartbeat_stuck, who, bracket, time, "watchdog", seconds, facts);
      return true;
    }
    if (contains(squeezed, "takingtheentireprocessdown") ||
        contains(squeezed, "operationshavefailedortimedout") ||
        contains(squeezed, "watchdogthreadterminated")) {
      add_event(EventKind::aborted, who, bracket, time, "watchdog", 0, facts);
      return true;
    }
    if (contains(squeezed, "dumpsignal") || contains(squeezed, "timeoutfromanotherrank") ||
        contains(squeezed, "Receivedatimeoutsignal") || contains(squeezed, "collectivetimeoutfromrank")) {
      EventFact event;
      event.kind = EventKind::aborted;
      event.who = who;
      event.peer.rank = small_number(number_after(squeezed, "fromrank"));
      event.group = bracket.key;
      event.time_ns = time;
      event.detail = "dump signal";
      facts.add(std::move(event));
      return true;
    }
    if (contains(squeezed, "Stacktraceofthefailedcollective:")) {
      is_in_frames_ = true;
      return true;
    }
    return contains(squeezed, "Stacktraceofthefailedcollectivenotfound");
  }

  /// "#1 all_reduce from /opt/torch/distributed/distributed_c10d.py:2501" behind "Stack trace of ...".
  bool read_frame(const Line& line, Facts& facts) {
    if (!is_in_frames_) return false;
    std::string_view rest = trimmed(line.text);
    if (!take(rest, "#") || !take_number(rest) || !contains(rest, " from ")) {
      is_in_frames_ = false;
      return false;
    }
    auto& ops = facts.evidence().ops;
    if (!ops.empty() && ops.back().source.file == facts.file_index() &&
        ops.back().frames.size() < kFramesMax) {
      const std::size_t from = rest.find(" from ");
      ops.back().frames.push_back(concat(trimmed(rest.substr(from + 6)).substr(0, kTextMax), " ",
                                         trimmed(rest.substr(0, from)).substr(0, kTextMax)));
    }
    return true;
  }

  /// The line behind "Last error:", and the words of NCCL's error in front of it.
  bool read_last_error(const Line& line, Facts& facts) {
    const std::string_view text = trimmed(line.text);
    if (text.starts_with("Last error:")) {
      is_after_last_error_ = true;
      if (text.size() <= 11) return true;
      return read_cause(text.substr(11), facts);
    }
    if (is_after_last_error_) {
      is_after_last_error_ = false;
      return read_cause(text, facts);
    }
    constexpr std::string_view kExplanations[] = {
        "ncclRemoteError:",     "ncclInternalError:",      "ncclSystemError:",     "ncclInvalidUsage:",
        "ncclInvalidArgument:", "ncclUnhandledCudaError:", "Exception raised from"};
    for (const std::string_view word : kExplanations) {
      if (text.starts_with(word)) return true;
    }
    return false;
  }

  bool read_cause(std::string_view text, Facts& facts) {
    EventFact event;
    event.who = last_;
    event.text = text.substr(0, kTextMax);
    if (const auto peer = after(text, "Connection closed by remote peer")) {
      event.kind = EventKind::peer_closed;
      event.peer = peer_of(*peer);
    } else if (contains_ignoring_case(text, "out of memory")) {
      event.kind = EventKind::cuda_oom;
    } else if (contains_ignoring_case(text, "cuda")) {
      event.kind = EventKind::cuda_error;
    } else if (contains(text, "No route to host") || contains(text, "etwork is unreachable")) {
      event.kind = EventKind::no_route;
    } else if (contains(text, "onnection refused") || contains(text, "onnection timed out")) {
      event.kind = EventKind::connect_failed;
    } else {
      event.kind = EventKind::other;
    }
    event.detail = text.substr(0, 120);
    facts.add(std::move(event));
    facts.format("watchdog_log");
    return true;
  }

  std::set<std::tuple<int, int, std::string>> groups_{};
  std::set<std::tuple<int, int, std::int64_t, std::int64_t>> seen_{};
  Who last_{};
  bool is_after_last_error_ = false;
  bool is_in_frames_ = false;
};

}  // namespace

std::unique_ptr<LineReader> make_watchdog_reader() { return std::make_unique<WatchdogReader>(); }

}  // namespace ringcomm::inline v0::diag::text
