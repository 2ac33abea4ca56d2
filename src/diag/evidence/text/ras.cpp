// SPDX-License-Identifier: Apache-2.0
// The text that ncclras prints: a table of communicators, then errors and warnings with the processes they
// are about. It lists the smaller set, and a defect of 2.27.3 makes it list communicators that do not exist.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::int64_t kRanksMax = 1 << 20;   // of a communicator
constexpr std::int64_t kUnlistedMax = 65536;  // counters made for ranks that RAS did not list
constexpr std::size_t kListedMax = 1024;      // ranks looked through for each process
constexpr std::string_view kSnapshotWord = "ras_status ";

struct Row {
  std::int64_t size = 0;  ///< ranks per communicator
  std::string status;
};

/// One "#0-0 (27a079b828ff1a75) MISMATCH" with what follows it.
struct Block {
  std::string key, id, problem, op;
  std::int64_t group = kUnknown;
  std::int64_t expected = 0;                                  ///< ranks that it says it lists
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;  ///< ranks, operation
  std::vector<std::pair<std::int64_t, std::string>> statuses;
  std::size_t line_of_counts = 0;
  std::vector<std::pair<Who, std::int64_t>> listed;  ///< with the operation; kUnknown: none said
};

class RasReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text);
    const bool is_known = read_frame(text, facts) || (is_ras_ && read_body(text, facts));
    if (is_known) facts.format("ras_text");
    return is_known;
  }

  void end(Facts& facts) override {
    close_block(facts);
    tell_processes(facts);
    if (dropped_ > 0)
      facts.note(concat(dropped_, " communicators of the RAS report are garbage (NCCL defect)"));
  }

 private:
  /// What shows that the text is RAS output.
  bool read_frame(std::string_view text, Facts& facts) {
    if (text.starts_with("NCCL version ") && contains(text, "compiled with CUDA")) {
      begin_snapshot(facts);
      std::string_view rest = text.substr(13);
      facts.event(EventKind::version, take_word(rest));
      return is_ras_ = true;
    }
    if (text.starts_with("Group") && contains(text, "Comms") && contains(text, "Ranks")) {
      if (has_table_) begin_snapshot(facts);
      is_ras_ = has_table_ = is_in_table_ = true;
      return true;
    }
    if (text == "Job summary" || text.starts_with("Communicators... (")) {
      return is_ras_ = true;
    }
    if (!text.starts_with('#') || !is_block_head(text)) return false;
    is_ras_ = true;
    return open_block(text, facts);
  }

  /// "#0-0 (27a079b828ff1a75) MISMATCH".
  static bool is_block_head(std::string_view text) {
    std::string_view rest = text.substr(1);
    if (!take_number(rest) || !rest.starts_with('-')) return false;
    rest.remove_prefix(1);
    return take_number(rest) && take(rest, "(") && contains(rest, ")");
  }

  void begin_snapshot(Facts& facts) {
    close_block(facts);
    tell_processes(facts);
    if (has_table_) {
      ++snapshot_;
      rows_.clear();
    }
    has_table_ = is_in_table_ = is_in_total_ = false;
    section_.clear();
  }

  bool read_body(std::string_view text, Facts& facts) {
    if (text.find_first_not_of("=-") == std::string_view::npos) return true;
    if (is_in_table_ && read_row(text, facts)) return true;
    if (text.starts_with("# in group") || text.starts_with("#  in group") ||
        text.starts_with("CUDA runtime version") || text.starts_with("Nodes ") ||
        text.starts_with("per node") || text.starts_with("The outlier node") || text.starts_with("Node "))
      return true;
    if (text.starts_with("(total)")) return is_in_total_ = true;
    if (is_digit(text.front()) && read_total(text, facts)) return true;
    if (read_section(text)) return true;
    return read_problem(text, facts);
  }

  /// The last column of the row behind "(total) ...".
  bool read_total(std::string_view text, Facts& facts) {
    std::int64_t last = 0;
    int columns = 0;
    for (auto number = take_number(text); number; number = take_number(text), ++columns) last = *number;
    if (columns < 3 || columns > 8 || !trimmed(text).empty()) return columns >= 3 && contains(text, "-");
    if (is_in_total_ && last > 0 && last <= kRanksMax) {
      gpus_ = last;
      facts.evidence().world_size = static_cast<int>(last);
    }
    is_in_total_ = false;
    return true;
  }

  /// "0 1 32 8 256 256 RUNNING OK"; "8-9" where nodes differ.
  bool read_row(std::string_view text, Facts& facts) {
    if (take(text, "#")) return true;
    std::vector<std::int64_t> columns;
    while (columns.size() < 6) {
      const auto number = take_number(text);
      if (!number) break;
      columns.push_back(*number);
      if (text.starts_with("-")) text.remove_prefix(1), columns.back() = take_number(text).value_or(0);
    }
    if (columns.size() < 6) return is_in_table_ = false;
    Row row{columns[4], std::string(take_word(text).substr(0, 40))};
    const std::string_view errors = trimmed(text).substr(0, 80);
    const bool is_sane = row.size > 0 && row.size <= kRanksMax && columns[3] > 0 && row.status != "NOCOMM";
    if (!is_sane) row.size = 0;
    if (is_sane) {
      largest_ = std::max(largest_, row.size);
      EventFact event;
      event.kind = EventKind::other;
      event.group = concat('#', columns[0]);
      event.detail = concat(kSnapshotWord, row.status, ' ', errors);
      event.code = row.size;
      event.second = columns[1];
      event.snapshot = snapshot_;
      facts.add(std::move(event));
    }
    rows_[columns[0]] = std::move(row);
    return true;
  }

  /// "INCOMPLETE", "DEAD", "TIMEOUT", "MISMATCH" alone on a line.
  bool read_section(std::string_view text) {
    for (const std::string_view word : {"INCOMPLETE", "DEAD", "TIMEOUT", "MISMATCH", "Errors", "Warnings"}) {
      if (text == word) {
        section_ = word;
        return true;
      }
    }
    return false;
  }

  bool open_block(std::string_view text, Facts& facts) {
    close_block(facts);
    is_in_table_ = false;
    block_ = Block{};
    std::string_view rest = text;
    block_.key = take_word(rest).substr(0, 40);
    std::string_view number = std::string_view(block_.key).substr(1);
    block_.group = take_number(number).value_or(kUnknown);
    take(rest, "(");
    block_.id = take_word(rest, ")").substr(0, 64);
    take(rest, ")");
    block_.problem = trimmed(rest).substr(0, 80);
    is_block_open_ = true;
    const auto row = rows_.find(block_.group);
    is_garbage_ = row != rows_.end() && row->second.size == 0;
    if (is_garbage_) {
      ++dropped_;
      return true;
    }
    GroupFact group;
    group.key = group.name = block_.key;
    group.unique_id = block_.id;
    group.backend = "nccl";
    if (row != rows_.end()) group.size = static_cast<int>(row->second.size);
    facts.add(std::move(group));
    return true;
  }

  std::int64_t size_of_block() const {
    const auto row = rows_.find(block_.group);
    return row == rows_.end() ? 0 : row->second.size;
  }

  /// A communicator over all GPUs of the job counts ranks as the job does.
  bool is_world() const {
    const std::int64_t size = size_of_block();
    return size > 0 && (gpus_ > 0 ? size == gpus_ : size == largest_);
  }

  bool read_problem(std::string_view text, Facts& facts) {
    if (text.starts_with("Missing communicator data from")) {
      block_.expected = number_after(text, "data from ").value_or(0);
      return true;
    }
    if (text.starts_with("Process ") || text.starts_with("process ")) return read_process(text, facts);
    if (text.starts_with("Rank ")) return read_rank(text, facts);
    if (contains(text, "operation counts")) {
      std::string_view rest = after(text, "different ").value_or(std::string_view());
      block_.op = take_word(rest).substr(0, 40);
      return true;
    }
    if (contains(text, "different status")) return true;
    if (contains(text, "launched up to operation")) {
      std::string_view rest = text;
      const auto ranks = take_number(rest);
      block_.counts.emplace_back(ranks.value_or(1), number_after(text, "operation ").value_or(0));
      return true;
    }
    if (contains(text, "considered dead") || contains(text, "considered unreachable")) {
      section_ = "DEAD";
      return true;
    }
    if (contains_ignoring_case(text, "timeout") && contains(text, "ncountered")) {
      facts.event(EventKind::other, "ras_timeout");
      return true;
    }
    return contains(text, "status") && is_block_open_ && is_digit(text.front());
  }

  /// "Process 6004 on node 10.0.1.13 managing GPU 0".
  static bool parse_process(std::string_view text, Who& who) {
    const auto pid = number_after(text, "rocess ");
    if (!pid) return false;
    who.pid = *pid;
    const Who node = peer_of(word_after(text, "on node "));
    who.host = node.host;
    who.address = node.address;
    if (const int gpu = small_number(number_after(text, "GPU ")); gpu != kUnknown) who.gpu = gpu;
    return true;
  }

  bool read_process(std::string_view text, Facts& facts) {
    EventFact event;
    if (!parse_process(text, event.who)) return false;
    event.kind = section_ == "DEAD" ? EventKind::considered_dead : EventKind::missing_process;
    event.detail = "RAS";
    event.snapshot = snapshot_;
    event.source = facts.source();
    event.text = text.substr(0, kTextMax);
    if (processes_.size() < kListedMax) processes_.push_back(std::move(event));
    return true;
  }

  /// Those that no list of ranks names better.
  void tell_processes(Facts& facts) {
    for (EventFact& event : processes_) {
      const auto is_same = [&](const Who& who) {
        return who.pid == event.who.pid && who.host == event.who.host && who.address == event.who.address;
      };
      if (std::ranges::none_of(ranks_, is_same)) facts.add(std::move(event));
    }
    processes_.clear();
    ranks_.clear();
  }

  bool read_rank(std::string_view text, Facts& facts) {
    if (!is_block_open_) return false;
    if (is_garbage_) return true;
    const auto number = number_after(text, "Rank ");
    const std::int64_t size = size_of_block();
    if (!number || *number < 0 || *number >= (size > 0 ? size : kRanksMax))
      return true;  // no rank of this job
    Who who;
    who.group_rank = small_number(number);
    if (is_world()) who.rank = who.group_rank;
    parse_process(text, who);
    if (contains(block_.problem, "INCOMPLETE") || contains(block_.problem, "DEAD")) {
      if (who.rank == kUnknown && who.pid != kUnknown)
        who.name = concat("process ", who.pid, " on ", who.address.empty() ? who.host : who.address,
                          " (rank ", who.group_rank, " of comm ", block_.id, ')');
      EventFact event;
      event.kind = section_ == "DEAD" || contains(block_.problem, "DEAD") || contains(text, "dead")
                       ? EventKind::considered_dead
                       : EventKind::missing_process;
      if (ranks_.size() < kListedMax) ranks_.push_back(who);
      event.who = std::move(who);
      event.group = block_.key;
      event.detail = "RAS";
      event.snapshot = snapshot_;
      facts.add(std::move(event));
      return true;
    }
    // The list belongs to the last count before it.
    block_.listed.emplace_back(std::move(who),
                               block_.counts.empty() ? kUnknown : block_.counts.back().second);
    return true;
  }

  void add_counter(Who who, std::int64_t count, Facts& facts) {
    CounterFact counter;
    counter.who = std::move(who);
    counter.group = block_.key;
    counter.snapshot = snapshot_;
    counter.launches[block_.op.empty() ? "collective" : block_.op] = count;
    facts.add(std::move(counter));
  }

  /// Ranks that are not listed have the count of the others, where the numbers leave no doubt.
  void close_block(Facts& facts) {
    if (!is_block_open_) return;
    is_block_open_ = false;
    if (is_garbage_ || block_.counts.empty()) return;
    std::set<int> listed;
    for (auto& [who, count] : block_.listed) {
      listed.insert(who.group_rank);
      if (count != kUnknown) add_counter(who, count, facts);
    }
    const std::int64_t size = size_of_block();
    const auto& first = block_.counts.front();
    const auto listed_count = static_cast<std::int64_t>(listed.size());
    if (size == 0 || size > kUnlistedMax || first.first + listed_count != size) return;
    for (int rank = 0; rank < static_cast<int>(size); ++rank) {
      if (listed.contains(rank)) continue;
      Who who;
      who.group_rank = rank;
      if (is_world()) who.rank = rank;
      add_counter(std::move(who), first.second, facts);
    }
  }

  std::map<std::int64_t, Row> rows_{};
  Block block_{};
  std::vector<EventFact> processes_{};
  std::vector<Who> ranks_{};
  std::string section_{};
  std::int64_t gpus_ = 0;
  std::int64_t largest_ = 0;
  int snapshot_ = 0;
  int dropped_ = 0;
  bool is_ras_ = false;
  bool has_table_ = false;
  bool is_in_table_ = false;
  bool is_in_total_ = false;
  bool is_block_open_ = false;
  bool is_garbage_ = false;
};

}  // namespace

std::unique_ptr<LineReader> make_ras_reader() { return std::make_unique<RasReader>(); }

}  // namespace ringcomm::inline v0::diag::text
