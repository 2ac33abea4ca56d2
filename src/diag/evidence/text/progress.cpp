// SPDX-License-Identifier: Apache-2.0
// What an application says of itself: where it is, that it still moves, that it has finished. Only the last
// line of each writer and kind is kept, since a log may hold a million steps.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

struct Words {
  std::string_view text;  ///< in lower case
  std::string_view detail;
};
constexpr std::array kFinished{
    Words{"training finished", "training finished"},
    Words{"training completed", "training finished"},
    Words{"training complete", "training finished"},
    Words{"training done", "training finished"},
    Words{"finished training", "training finished"},
    Words{"done training", "training finished"},
    Words{"training ended", "training finished"},
    Words{"end of training", "training finished"},
    Words{"end time of running", "program finished"},
    Words{"train_runtime", "training finished"},
    Words{"all done", "program finished"},
    Words{"job finished", "program finished"},
    Words{"job completed", "program finished"},
    Words{"saved final", "program finished"},
    Words{"final checkpoint saved", "program finished"},
    Words{"training successfully", "training finished"},
};
constexpr std::array kAtWork{
    Words{"loading tokenizer", "loading"},
    Words{"tokeniz", "tokenizing"},
    Words{"saving", "saving checkpoint"},
    Words{"saved checkpoint", "saved checkpoint"},
    Words{"writing checkpoint", "saving checkpoint"},
    Words{"save_checkpoint", "saving checkpoint"},
    Words{"uploading", "uploading"},
    Words{"downloading", "downloading"},
    Words{"loading checkpoint", "loading"},
    Words{"loading prepared dataset", "loading"},
    Words{"loading dataset", "loading"},
    Words{"loading model", "loading"},
    Words{"preprocess", "preprocessing"},
    Words{"pre-process", "preprocessing"},
    Words{"generating train split", "preprocessing"},
    Words{"building index", "preprocessing"},
    Words{"building dataset", "preprocessing"},
    Words{"compiling", "compiling"},
    Words{"autotun", "compiling"},
    Words{"evaluating", "evaluating"},
    Words{"running evaluation", "evaluating"},
    Words{"validation", "evaluating"},
    Words{"replay", "graph replay"},
    Words{"heartbeat phase", "heartbeat"},
    Words{"barrier", "barrier"},
};
// A number behind one of them is a step.
constexpr std::array<std::string_view, 9> kStepWords{
    "last step ", "step ", "step: ", "step=", "step:", "global_step=", "iteration ", "iter ", "epoch "};

constexpr std::size_t kLineMax = 2000;

class ProgressReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text).substr(0, kLineMax);
    EventFact event;
    event.kind = EventKind::progress;
    lower_case(text);
    if (!read_bar(text, event) && !read_finished(event) && !read_work(event)) return false;
    event.text = text.substr(0, kTextMax);
    event.time_ns = line.time_ns;
    // "heartbeat ... until 23:08:02": the last time that a line tells is the one it was alive at.
    if (!event.time_ns) event.time_ns = last_time_in(text);
    if (const int rank = rank_in(text); rank != kUnknown) event.who.rank = rank;
    event.who = facts.completed(event.who);
    event.source = facts.source();
    facts.format("console_log");
    keep(std::move(event));
    return true;
  }

  void end(Facts& facts) override {
    std::vector<EventFact*> events;
    for (auto& [key, event] : last_) events.push_back(&event);
    std::ranges::sort(events, {}, [](const EventFact* event) { return event->source.line; });
    for (EventFact* const event : events) facts.add_of_other(std::move(*event));
  }

 private:
  void keep(EventFact event) {
    std::string key = concat(event.who.rank, '|', event.who.pid, '|', event.who.host, '|', event.who.name,
                             '|', static_cast<int>(event.kind), '|', event.detail);
    if (last_.size() >= kWritersMax && !last_.contains(key)) return;
    last_.insert_or_assign(std::move(key), std::move(event));
  }

  static std::optional<std::int64_t> last_time_in(std::string_view text) {
    for (std::size_t at = text.rfind(':'); at != std::string_view::npos && at >= 5;
         at = text.rfind(':', at - 1)) {
      // The second colon of hh:mm:ss stands five characters behind the beginning.
      if (const auto time = find_time_of_day(text.substr(at - 5))) return time;
    }
    return std::nullopt;
  }

  /// "[RANK:0]", "(rank 3)", "rank=3": as applications label their lines.
  static int rank_in(std::string_view text) {
    for (const std::string_view key : {"[RANK:", "[Rank ", "(rank ", "rank=", "RANK=", "[rank:"}) {
      if (const int rank = small_number(number_after(text, key)); rank != kUnknown) return rank;
    }
    return kUnknown;
  }

  /// tqdm: "Running tokenizer on dataset:  71%|#######   | 71200/100000 [29:58<12:07, 39.59 examples/s]".
  static bool read_bar(std::string_view text, EventFact& event) {
    const std::size_t bar = text.find("%|");
    if (bar == std::string_view::npos) return false;
    std::size_t begin = bar;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    if (begin == bar) return false;
    const std::size_t close = text.find('|', bar + 2);
    if (close != std::string_view::npos) {
      std::string_view counts = text.substr(close + 1);
      if (const auto done = take_number(counts)) {
        event.code = *done;
        if (take(counts, "/")) event.second = take_number(counts).value_or(0);
      }
    }
    std::string_view name = trimmed(text.substr(0, begin));
    while (name.ends_with(':')) name.remove_suffix(1);
    event.detail = name.empty() ? "progress bar" : std::string(name.substr(0, 120));
    return true;
  }

  bool read_finished(EventFact& event) const {
    for (const Words& words : kFinished) {
      if (!contains(lower_, words.text)) continue;
      event.kind = EventKind::finished;
      event.detail = words.detail;
      return true;
    }
    return false;
  }

  bool read_work(EventFact& event) const {
    if (lower_.size() > 1000) return false;
    for (const Words& words : kAtWork) {
      if (!contains(lower_, words.text)) continue;
      event.detail = words.detail;
      break;
    }
    for (const std::string_view word : kStepWords) {
      const std::size_t at = find_word(word);
      if (at == std::string::npos) continue;
      std::string_view rest = std::string_view(lower_).substr(at + word.size());
      const auto number = take_number(rest);
      if (!number || *number < 0) continue;
      event.code = *number;
      if (take(rest, "/")) event.second = take_number(rest).value_or(0);
      if (event.detail.empty()) event.detail = "step";
      return true;
    }
    return !event.detail.empty();
  }

  /// At the beginning of a word.
  std::size_t find_word(std::string_view word) const {
    for (std::size_t at = lower_.find(word); at != std::string::npos; at = lower_.find(word, at + 1)) {
      if (at == 0 || !(is_letter(lower_[at - 1]) || lower_[at - 1] == '_')) return at;
    }
    return std::string::npos;
  }

  // Fifty words are looked for in every line of a log: once in lower case is cheaper than fifty times in any.
  void lower_case(std::string_view text) {
    lower_.assign(text);
    for (char& c : lower_) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
  }

  std::string lower_{};
  std::map<std::string, EventFact> last_{};
};

}  // namespace

std::unique_ptr<LineReader> make_progress_reader() { return std::make_unique<ProgressReader>(); }

}  // namespace ringcomm::inline v0::diag::text
