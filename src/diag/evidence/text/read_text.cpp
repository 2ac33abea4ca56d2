// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "diag/evidence/reader.hpp"
#include "diag/evidence/text/facts.hpp"
#include "diag/evidence/text/glue.hpp"
#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "diag/evidence/text/section.hpp"
#include "diag/evidence/text/topology_text.hpp"

namespace ringcomm::inline v0::diag {
namespace text {
namespace {

constexpr std::size_t kMessageMax = 65536;  ///< no line that anybody reads is longer
constexpr int kWrappedMax = 6;              ///< lines of one wrapped message

class TextReader {
 public:
  TextReader(const RawFile& file, HangEvidence& evidence)
      : file_(file), facts_(file, evidence), readers_(line_readers()) {
    Who who;
    who.rank = rank_of_log_name(file.path);
    facts_.set_section(std::move(who));
  }

  Status read() {
    std::string_view rest = file_.bytes;
    if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    for (int number = 1; !rest.empty() && !facts_.is_full(); ++number) {
      const std::size_t past = rest.find('\n');
      read_line(rest.substr(0, past), number);
      if (past == std::string_view::npos) break;
      rest.remove_prefix(past + 1);
    }
    flush();
    for (const auto& reader : readers_) reader->end(facts_);
    if (read_topology_of(file_, facts_)) ++known_;
    facts_.finish();
    FileRead& read = facts_.evidence().files[static_cast<std::size_t>(file_.index)];
    read.lines_skipped = skipped_;
    if (known_ == 0) return Status::not_found("no line of a known format");
    return {};
  }

 private:
  /// A progress bar overwrites itself: each state is a line to the readers.
  void read_line(std::string_view line, int number) {
    for (;;) {
      const std::size_t past = line.find('\r');
      if (const std::string_view part = line.substr(0, past); !part.empty()) read_part(part, number);
      if (past == std::string_view::npos) return;
      line.remove_prefix(past + 1);
    }
  }

  void read_part(std::string_view part, int number) {
    const std::string_view clean = without_scroll_mark(without_escapes(part, scratch_));
    carried_ = {};
    for_each_message(clean, [&](std::string_view message) { read_message(message, number); });
  }

  void read_message(std::string_view message, int number) {
    if (!pending_.empty()) {
      if (wrapped_ < kWrappedMax && is_continuation(message)) {
        pending_ += trimmed(message);
        ++wrapped_;
        if (!is_unfinished(pending_)) flush();
        return;
      }
      flush();
    }
    message = message.substr(0, kMessageMax);
    if (is_unfinished(message)) {
      pending_ = message;
      pending_number_ = number;
      wrapped_ = 1;
      return;
    }
    tell(message, number);
  }

  void flush() {
    if (pending_.empty()) return;
    const std::string message = std::move(pending_);
    pending_.clear();
    tell(message, pending_number_);
  }

  void tell(std::string_view message, int number) {
    Line line = stripper_.strip(message);
    line.number = number;
    inherit(line);
    if (trimmed(line.text).empty()) return;
    facts_.at(line);
    bool is_known = false;
    for (const auto& reader : readers_) {
      is_known = reader->read(line, facts_);
      if (is_known) break;
    }
    if (is_known) facts_.format(line.launcher);
    ++(is_known ? known_ : skipped_);
    facts_.leave_line();
  }

  /// A launcher's prefix stands once before all that a pipe held.
  void inherit(Line& line) {
    if (line.launcher.empty() && !carried_.launcher.empty()) {
      line.launcher = carried_.launcher;
      const Who own = line.who;
      line.who = carried_.who;
      if (own.rank != kUnknown) line.who.rank = own.rank;
      if (!own.host.empty()) line.who.host = own.host;
    } else {
      carried_ = line;
    }
  }

  const RawFile& file_;
  Facts facts_;
  PrefixStripper stripper_{};
  std::vector<std::unique_ptr<LineReader>> readers_;
  std::string scratch_{};
  std::string pending_{};
  int pending_number_ = 0;
  int wrapped_ = 0;
  Line carried_{};
  std::size_t known_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace
}  // namespace text

Status read_text(const RawFile& file, HangEvidence& evidence) {
  return text::TextReader(file, evidence).read();
}

}  // namespace ringcomm::inline v0::diag
