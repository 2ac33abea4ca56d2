// SPDX-License-Identifier: Apache-2.0
// Where the line readers put what they found: within the limits, each with its place and its writer.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "diag/evidence/reader.hpp"
#include "diag/evidence/text/line.hpp"
#include "diag/evidence/text/timestamp.hpp"

namespace ringcomm::inline v0::diag::text {

inline constexpr std::size_t kTextMax = 400;  ///< characters of a quoted line
inline constexpr std::size_t kFramesMax = 256;
inline constexpr std::size_t kWritersMax = 65536;  ///< processes whose unfinished messages are kept

class Facts {
 public:
  Facts(const RawFile& file, HangEvidence& evidence);

  /// The line that facts are of from now on.
  void at(const Line& line) {
    line_ = &line;
    number_ = line.number;
  }
  /// Between lines: facts that are told late keep the number of the last line, and nothing of its prefixes.
  void leave_line() { line_ = nullptr; }
  /// The rank that a heading or the file's name gives to lines that name none.
  void set_section(Who who) { section_ = std::move(who); }
  const Who& section() const { return section_; }

  // Each fills in the source and, where the fact's `who` leaves them open, what the line's prefixes tell.
  EventFact* add(EventFact event);
  OpFact* add(OpFact op);
  void add(CounterFact counter);
  void add(GroupFact group);
  void add(StackFact stack);  ///< whole: who and source are set
  // About somebody else than the line's writer, or told later: `who` stays as it is.
  void add_of_other(OpFact op);
  void add_of_other(EventFact event);
  void add(GpuSample sample);
  void add_identity(Who who);
  void add_topology(Reading reading);
  /// An event of the current line as most readers make it.
  EventFact* event(EventKind kind, std::string_view detail = {}, Who who = {});
  /// The writer of the current line with what the fact knows itself.
  Who completed(Who who) const;

  /// A line said that the operation `seq` of this rank is one of `group`; lines about it need not say so.
  void tell_group(const Who& who, std::int64_t seq, const std::string& group);

  Source source() const { return {file_, number_}; }
  void format(std::string_view name);
  void note(std::string_view text);
  bool is_full() const { return count_ >= limit_; }
  HangEvidence& evidence() { return evidence_; }
  int file_index() const { return file_; }
  /// Times get the date that other lines of the file have; operations get the group that a line about the
  /// same operation names.
  void finish();

 private:
  bool admit();
  void complete_times();
  void link_groups();
  void split_runs();
  void name_stacks();

  HangEvidence& evidence_;
  int file_;
  std::size_t limit_;
  std::size_t count_ = 0;
  const Line* line_ = nullptr;
  int number_ = 0;
  Who section_{};
  Dates dates_{};
  std::map<std::pair<int, std::int64_t>, std::string> groups_{};  ///< by rank and sequence number
  std::size_t first_event_, first_op_, first_counter_, first_stack_, first_group_;
};

/// One format's eyes. A reader sees every line until one says that it knows it.
class LineReader {
 public:
  LineReader() = default;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  LineReader(LineReader&&) = delete;
  LineReader& operator=(LineReader&&) = delete;
  virtual ~LineReader() = default;
  /// True when the line is of this reader's format, whether it gave a fact or not.
  virtual bool read(const Line& line, Facts& facts) = 0;
  /// The text has ended: what is still open is told now.
  virtual void end(Facts& /*facts*/) {}
};

}  // namespace ringcomm::inline v0::diag::text
